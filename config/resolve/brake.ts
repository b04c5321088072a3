// The `brake` section: thresholds that are left out are the defaults, which stand here and in docs/brake.md. Pure.
import {
  BRAKE_LEVELS,
  BRAKE_RULES,
  type BrakeLevel,
  type BrakeRule,
  type BrakeSettings,
  type BrakeThresholds,
} from '../brake-settings.ts';
import type { Diagnostics } from '../diagnostics.ts';
import type { GatewayFile } from '../gateway-file.ts';

const PICO_PER_USD = 1e12;
const N = Infinity;

const table = (note: number, header: number, alert: number, slow: number, stop: number): BrakeThresholds => ({
  note,
  header,
  alert,
  slow,
  stop,
});

const DEFAULTS: Readonly<Record<BrakeRule, BrakeThresholds>> = {
  repeated_step: table(4, 4, 6, 6, 8),
  repeated_error: table(3, 3, 6, 6, 8),
  repeated_call: table(10, 10, 20, N, N),
  alternation: table(6, 6, 8, 8, 12),
  repeated_prompt: table(4, 4, 6, 6, 8),
  repeated_request: table(3, 3, 5, N, 5),
  repeated_start: table(50, 50, 100, N, 1_000),
  new_agents: table(200, 200, 500, N, N),
  tool_errors: table(10, 10, 10, N, N),
  call_errors: table(10, 10, 10, N, N),
  call_rate: table(3, 3, 5, 9, 10),
  cost_rate: table(3, 3, 5, 9, 10),
  compaction: table(3, 3, 3, N, 4),
  context_growth: table(100, 100, 250, N, N),
};

type Written = NonNullable<NonNullable<GatewayFile['brake']>['rules']>[BrakeRule];

/** null = off. */
export function brakeOf({ brake }: GatewayFile, diagnostics: Diagnostics): BrakeSettings | null {
  if (brake === undefined) return null;
  const rules = BRAKE_RULES.map((rule) => [rule, thresholdsOf(rule, brake.rules?.[rule], diagnostics)]);
  return {
    enforces: brake.mode === 'enforce',
    slowMs: Math.round(Number(brake.slow_seconds) * 1000),
    maxConversations: Number(brake.max_conversations),
    idleMs: Math.round(Number(brake.idle_minutes) * 60_000),
    exemptTools: brake.exempt_tools,
    ignoredArguments: new Set(brake.ignored_arguments),
    pollingMs: Math.round(Number(brake.polling_seconds) * 1000) || Infinity,
    rateFactor: Number(brake.rate_factor),
    minCallsPerMinute: Number(brake.min_calls_per_minute),
    minPicoPerMinute: Math.round(Number(brake.min_cost_per_minute) * PICO_PER_USD),
    rules: Object.fromEntries(rules) as BrakeSettings['rules'],
  };
}

/** A milder level that comes later than a harder one would never be seen. */
const MILDER: readonly (readonly [BrakeLevel, BrakeLevel])[] = [['slow', 'stop']];

function thresholdsOf(rule: BrakeRule, written: Written, diagnostics: Diagnostics): BrakeThresholds {
  if (written === false) return table(N, N, N, N, N);
  if (written === undefined || written === true) return DEFAULTS[rule];
  const own = BRAKE_LEVELS.map((level) => {
    const value = written[level];
    if (value === undefined || value === true) return [level, DEFAULTS[rule][level]];
    return [level, value === false ? N : Number(value)];
  });
  const thresholds = Object.fromEntries(own) as BrakeThresholds;
  if (BRAKE_LEVELS.every((level) => thresholds[level] === N)) {
    const path = ['brake', 'rules', rule];
    diagnostics.warn(path, 'leads to no level, so it is off', `write ${rule}: false, or a count`, 'key');
  }
  for (const [milder, harder] of MILDER) {
    if (written[milder] === undefined || thresholds[milder] === N) continue;
    if (thresholds[milder] < thresholds[harder]) continue;
    const message = `(${thresholds[milder]}) is not below ${harder} (${thresholds[harder]}), so it has no effect`;
    diagnostics.warn(['brake', 'rules', rule, milder], message, `lower it, or raise ${harder}`, 'key');
  }
  return thresholds;
}
