// What of the chain needs a person, in sentences: the worst first, each with what mends it and where the page shows more. Pure.
import type { ActiveConfig } from '../../active-config/active-config.ts';
import type { ReloadState, SharedCounters } from '../../active-config/cluster-peers.ts';
import type { ChainParts, DeploymentPart, GatewayPart, LedgerSums } from './chain-parts.ts';

type Level = 'ok' | 'info' | 'warning' | 'error';

export interface ChainFinding {
  readonly level: Exclude<Level, 'ok'>;
  readonly text: string;
  readonly mend: string;
  /** A place of the page, below `ui/`; null = none says more. */
  readonly link: string | null;
}

interface Known {
  readonly active: ActiveConfig;
  readonly parts: ChainParts;
  readonly ledger: LedgerSums;
  /** The stored keys, teams and users. */
  readonly keysLoaded: boolean;
  readonly counters: SharedCounters | null;
  readonly workers: {
    readonly configured: number;
    readonly serving: number;
    readonly silent: readonly number[];
  };
  readonly reload: ReloadState;
  readonly draining: boolean;
  /** Of alerts, other servers and the like. */
  readonly more: readonly ChainFinding[];
}

/** Of the calls of a gateway: fewer say nothing. */
const FEWEST_CALLS = 5;
const MANY_FAULTS = 0.2;
const HIGH_LAG_MS = 250;
/** Each deployment of its own up to here. */
const MOST_NAMED = 3;

export function findingsOf(known: Known): readonly ChainFinding[] {
  const all = [
    ...ledgerFindings(known.ledger),
    ...(known.keysLoaded ? [] : [NO_KEYS]),
    ...counterFindings(known),
    ...configFindings(known),
    ...gatewayFindings(known.parts),
    ...machineFindings(known),
    ...known.more,
  ];
  const order = ['error', 'warning', 'info'];
  return all.toSorted((a, b) => order.indexOf(a.level) - order.indexOf(b.level));
}

/** Whether every call gets through and gets recorded, in a sentence. */
export function verdictOf(
  { ledger, parts: { traffic, gateways }, draining }: Known,
  findings: readonly ChainFinding[],
): { readonly level: Level; readonly text: string } {
  const level = findings.find((one) => one.level !== 'info')?.level ?? 'ok';
  if (draining) return { level: 'warning', text: 'The proxy is stopping: calls under way run to their end.' };
  const failed = traffic.faults.proxy + traffic.faults.upstream;
  const isDown =
    gateways.length > 0 && gateways.every(({ state }) => state === 'cooling_down' || state === 'failing');
  const through = throughText(traffic.calls, failed, isDown);
  if (!ledger.writable) return { level: 'error', text: `${through} Records cannot be written.` };
  if (ledger.rows_at_risk > 0 || ledger.rows_lost > 0)
    return { level: 'error', text: `${through} Some records are in danger.` };
  if (!ledger.store_reachable)
    return { level: 'warning', text: `${through} Every call is recorded in the journal; the store is away.` };
  if (isDown) return { level: 'error', text: through };
  if (traffic.calls === 0) return { level, text: `${through} Records are written.` };
  const more = level === 'ok' ? '' : ' Something else needs a person.';
  return {
    level,
    text: failed === 0 ? `Every call gets through and is recorded.${more}` : `${through} All are recorded.`,
  };
}

function throughText(calls: number, failed: number, isDown: boolean): string {
  if (isDown) return 'No gateway can be called now.';
  if (calls === 0) return 'Ready: there were no calls in the last 5 minutes.';
  if (failed === 0) return 'Every call gets through.';
  return `${failed} of ${calls} calls of the last 5 minutes failed here or at a gateway.`;
}

function ledgerFindings(ledger: LedgerSums): readonly ChainFinding[] {
  const found: ChainFinding[] = [];
  const link = 'system';
  if (!ledger.writable)
    found.push({
      level: 'error',
      text: `The journal cannot be written: ${ledger.reason}.`,
      mend: 'Free space, or mend the disk of the data directory.',
      link,
    });
  if (ledger.rows_at_risk > 0)
    found.push({
      level: 'error',
      text: `${count(ledger.rows_at_risk, 'record is', 'records are')} in memory only.`,
      mend: 'Do not stop the proxy before the journal can be written again.',
      link,
    });
  if (ledger.rows_lost > 0)
    found.push({
      level: 'error',
      text: `${count(ledger.rows_lost, 'record was', 'records were')} given up, because memory ran short while the disk was full.`,
      mend: 'Compare with the ledger of the gateway: `throughline spend reconcile`.',
      link,
    });
  if (!ledger.store_reachable)
    found.push({
      level: 'warning',
      text: 'The store of the records does not answer. Calls are served and journalled; rows come later.',
      mend: 'See the database; the log of the proxy names the reason.',
      link,
    });
  return found;
}

const NO_KEYS: ChainFinding = {
  level: 'error',
  text: 'Keys, teams and users have not been loaded since the start. Keys that are not in the configuration get 503.',
  mend: 'See the database. Do not restart the servers that have them in memory.',
  link: 'system',
};

/** In the words of the alert `CountersDegraded`. */
function counterFindings({ active: { snapshot }, counters }: Known): readonly ChainFinding[] {
  if (counters === null || counters.is === 'shared') return [];
  const { limits = false, budgets = false } = snapshot.valkey?.failClosed ?? {};
  const refused = [...(limits ? ['limits'] : []), ...(budgets ? ['budgets'] : [])];
  const meanwhile =
    refused.length === 0
      ? 'this server counts alone'
      : `calls with ${refused.join(' or ')} get 503 on this server`;
  return [
    {
      level: refused.length === 0 ? 'warning' : 'error',
      text: `Budgets and limits are not shared between servers: the shared counters do not answer (${counters.why}), and ${meanwhile}.`,
      mend: 'Bring Valkey or Redis back; the servers tell it what they counted meanwhile. The log says why it is not used.',
      link: 'system',
    },
  ];
}

function configFindings({ active: { snapshot }, reload }: Known): readonly ChainFinding[] {
  const found: ChainFinding[] = [];
  if (reload.result === 'refused') {
    const errors = reload.issues.filter(({ severity }) => severity === 'error').length;
    found.push({
      level: 'error',
      text: `The configuration file was refused (${count(errors, 'error', 'errors')}); the one before serves on.`,
      mend: 'Mend the file; it is read again by itself. `throughline check` prints the same.',
      link: 'system?tab=configuration',
    });
  }
  if (snapshot.disabled.length > 0)
    found.push({
      level: 'warning',
      text: `${count(snapshot.disabled.length, 'model that was added at runtime is', 'models that were added at runtime are')} not served.`,
      mend: 'Change or delete the entry.',
      link: 'models',
    });
  if (snapshot.warnings.length > 0)
    found.push({
      level: 'info',
      text: `The configuration has ${count(snapshot.warnings.length, 'warning', 'warnings')}.`,
      mend: 'Each says what to change.',
      link: 'system?tab=configuration',
    });
  return found;
}

function gatewayFindings({ gateways, troubled }: ChainParts): readonly ChainFinding[] {
  const found: ChainFinding[] = [];
  for (const { gateway, state, deployments } of gateways)
    if (state === 'cooling_down' || state === 'failing') {
      const first = troubled.find((one) => one.gateway === gateway);
      const whose = deployments === 1 ? 'its deployment' : `all ${deployments} deployments`;
      found.push({
        level: 'error',
        text: `${gateway} is not called: ${whose} ${deployments === 1 ? 'rests' : 'rest'} (${first?.reason ?? 'no call succeeded'}).`,
        mend: 'See whether the gateway works: `throughline doctor` names the hop at fault.',
        link: 'system?tab=doctor',
      });
    }
  const down = new Set(gateways.filter(({ state }) => state !== 'ok').map(({ gateway }) => gateway));
  const coolingDown = troubled.filter(({ gateway, state }) => !down.has(gateway) && state !== 'half_open');
  for (const one of coolingDown.slice(0, MOST_NAMED)) found.push(coolingDownFinding(one));
  if (coolingDown.length > MOST_NAMED)
    found.push({
      level: 'warning',
      text: `${coolingDown.length - MOST_NAMED} more deployments rest.`,
      mend: 'The list of models shows each with its reason.',
      link: 'models',
    });
  for (const gateway of gateways) if (!down.has(gateway.gateway)) found.push(...faultFinding(gateway));
  return found;
}

function coolingDownFinding({ id, model_name, gateway, reason, ends_in_s }: DeploymentPart): ChainFinding {
  const until = ends_in_s === null ? '' : ` for ${ends_in_s} s`;
  return {
    level: 'warning',
    text: `${model_name} at ${gateway} rests${until}: ${reason ?? 'it failed'}.`,
    mend: 'Calls go to the other entries of this name and to its fallbacks meanwhile.',
    link: `models?id=${encodeURIComponent(id)}`,
  };
}

function faultFinding({ gateway, calls, faults: { upstream } }: GatewayPart): readonly ChainFinding[] {
  if (calls < FEWEST_CALLS || upstream / calls < MANY_FAULTS) return [];
  return [
    {
      level: 'warning',
      text: `${upstream} of ${calls} calls to ${gateway} failed there in the last 5 minutes.`,
      mend: 'The rows of these calls say what the gateway answered.',
      link: 'calls?status=failure',
    },
  ];
}

function machineFindings({ workers, parts: { machine, traffic }, draining }: Known): readonly ChainFinding[] {
  const found: ChainFinding[] = [];
  const missing = workers.configured - workers.serving;
  if (missing > 0 && !draining)
    found.push({
      level: 'warning',
      text: `${count(missing, 'worker', 'workers')} of ${workers.configured} ${missing === 1 ? 'does' : 'do'} not answer; the figures are without ${missing === 1 ? 'it' : 'them'}.`,
      mend: 'The log says why; a worker that ended is replaced by itself.',
      link: 'system',
    });
  if (machine.event_loop_lag_ms > HIGH_LAG_MS)
    found.push({
      level: 'warning',
      text: 'The proxy was busy for more than a quarter of a second at a stretch within the last 15 s.',
      mend: 'Give it more CPU, or more workers (general_settings.workers).',
      link: 'system',
    });
  if (traffic.faults.proxy > 0)
    found.push({
      level: 'warning',
      text: `${count(traffic.faults.proxy, 'call', 'calls')} of the last 5 minutes failed in the proxy itself.`,
      mend: 'The log names each with its error.',
      link: 'calls?status=failure',
    });
  return found;
}

/** `1 server`, `2 servers`. */
export const count = (n: number, one: string, many: string): string => `${n} ${n === 1 ? one : many}`;
