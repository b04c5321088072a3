// Measures what budgets and limits add to a call, alone: the steps that the pipeline takes for them, with many keys in memory, in
// a process of its own. Sends what it found over IPC. argv: number of keys, calls of a round, rounds. Needs --expose-gc.
import { hash } from 'node:crypto';
import { NO_BUDGET, NO_LIMITS } from '../proxy/access/objects/objects.ts';
import { Budgets } from '../proxy/access/budgets/budgets.ts';
import { promptTokensAtMost } from '../proxy/access/budgets/prompt-tokens.ts';
import { mostCost } from '../proxy/access/budgets/reservation.ts';
import { CallLimits, needsOfLimits } from '../proxy/access/limits/call-limits.ts';
import { limitHeaders } from '../proxy/access/limits/limit-headers.ts';
import { LocalCounters } from '../proxy/access/local-counters.ts';
import { blankKey, blankTeam } from '../proxy/access/objects/blank.ts';
import { AccessDirectory } from '../proxy/access/objects/directory.ts';
import { systemClock } from '../proxy/base/clock.ts';
import { responseHeaderNames } from '../proxy/headers/response-header-names.ts';
import { NO_TOKENS } from '../proxy/protocols/usage.ts';
import { NO_ANSWER, type SpendRecord } from '../proxy/spend/record/record.ts';
import { smallBody } from './harness/bodies.ts';
import { quantile } from './harness/quantiles.ts';

/** CPU of a call, microseconds: the median of the rounds, and the least. */
interface Step {
  readonly name: string;
  readonly medianUs: number;
  readonly leastUs: number;
}

export interface AccessSteps {
  readonly steps: readonly Step[];
  /** Of all keys and teams with their budgets and limits; then also of the counters of all of them. */
  readonly objectsMb: number;
  readonly countedMb: number;
}

const [count, calls, rounds] = process.argv.slice(2).map(Number) as [number, number, number];
const TERMS = {
  budget: { ...NO_BUDGET, maxBudget: 1_000_000, budgetDuration: '30d', budgetSetMs: 1_770_000_000_000 },
  limits: { ...NO_LIMITS, rpm: 100_000_000, tpm: 100_000_000_000, maxParallel: 10_000 },
};
const BODY = smallBody();
const HEADER_NAMES = responseHeaderNames({ headerPrefix: 'x-litellm-' });
const price = { base: 1_000_000n, tiers: {}, above: [] };
const CANDIDATE = {
  model: 'upstream-model',
  maxOutput: null,
  prices: {
    deployment: { version: 'v', tokens: { input: price, output: price }, units: {} },
    catalogue: null,
  },
};

const heapMb = (): number => {
  for (let n = 0; n < 4; n += 1) globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 2 ** 20;
};

const emptyMb = heapMb();
const directory = new AccessDirectory();
const ids = Array.from({ length: count }, (_, n) => {
  const id = hash('sha256', `sk-bench-${n}`, 'hex');
  const teamId = `team-${Math.floor(n / 100)}`;
  if (n % 100 === 0) directory.put({ ...blankTeam(teamId, 1), ...TERMS });
  const alias = `Key of user-${n}, org ${n % 100}`;
  directory.put({ ...blankKey(id, 'abcd', n), alias, userId: `user-${n}`, teamId, ...TERMS });
  return { id, teamId };
});
const plain = hash('sha256', 'sk-plain', 'hex');
directory.put(blankKey(plain, 'abcd', 1));
const objectsMb = heapMb() - emptyMb;

const counters = new LocalCounters(systemClock.mono, { isToldOnce: true }); // as a server of one process has them
const ledger = {
  spentBefore: async (queries: readonly unknown[], captured: () => void) => (
    captured(),
    queries.map(() => [])
  ),
};
const budgets = new Budgets(
  {
    budgets: {
      rules: [],
      timeZone: 'UTC',
      resetMinute: 0,
      exceededStatus: 422,
      reservation: 'strict',
      allowUnverified: false,
      metricsLimit: 20,
      userBudgetsOnTeamKeys: false,
    },
    routing: { aliases: new Map() },
    deployments: [],
  },
  {
    ledger,
    counters,
    directory,
    clock: systemClock,
    events: { emit: () => undefined },
  },
);
await budgets.warm();
const limitsOf = new CallLimits(directory);

let last = 0;
function recordOf(apiKeyHash: string, teamId: string | null): SpendRecord {
  last += 1;
  return {
    requestId: `0190aaaa-bbbb-7ccc-8ddd-${String(last).padStart(12, '0')}`,
    callType: 'acompletion',
    startMs: Date.now(),
    apiKeyHash,
    model: 'upstream-model',
    modelGroup: 'model',
    modelId: 'd1',
    provider: 'openai',
    apiBase: 'http://127.0.0.1:1',
    sessionId: '0190aaaa-bbbb-7ccc-8ddd-eeeeffff0000',
    sessionSource: 'x-litellm-session-id',
    endUser: null,
    teamId,
    userId: null,
    profile: null,
    tags: [],
    spendLogsMetadata: null,
    clientCallId: null,
    clientAddress: null,
    userAgent: null,
    client: null,
    stream: false,
    requestBytes: BODY.length,
    warnings: [],
    ...NO_ANSWER,
    tokens: { ...NO_TOKENS, total: 300 },
    endMs: Date.now(),
    status: 'success',
    endReason: 'complete',
    httpStatus: 200,
    errorCode: null,
    errorText: null,
    errorSource: null,
    attempts: 1,
    responseBytes: 500,
    spendPico: 24_000_000,
    costSource: 'entry',
    costReason: '',
    costs: {},
    priceVersion: null,
  };
}

/** As `pipeline/reserve.ts` and the settlement ask. @returns what must not be optimised away */
function call(record: SpendRecord): number {
  let tokens: number | null = null;
  const promptTokens = (): number => (tokens ??= promptTokensAtMost(BODY));
  const limits = limitsOf.of(record);
  const caps = budgets.capsFor(record);
  let headers = 0;
  if (caps.length > 0 || limits.length > 0) {
    const size = {
      body: BODY,
      promptTokens,
      formParts: null,
      pricedBy: 'tokens',
      writes: true,
      maxOutput: 100,
      choices: 1,
      units: {},
      serviceTier: null,
    } as const;
    const { pico } = mostCost(size, [CANDIDATE]);
    const reserved = counters.reserve({
      requestId: record.requestId,
      budgets: budgets.needsOf(caps, record.startMs),
      pico,
      limits: needsOfLimits(limits, () => promptTokens() + 4096),
    });
    if (reserved.kind !== 'reserved') throw new Error(`a call was not let in: ${reserved.kind}`);
    headers = limitHeaders(limits, reserved.remaining, HEADER_NAMES).length;
  }
  counters.release(record.requestId);
  budgets.settle(record);
  return headers;
}

interface Way {
  readonly name: string;
  readonly next: (n: number) => SpendRecord;
}

/** Every call another key, far from the last one in memory. */
const anyOf = (n: number): (typeof ids)[number] => ids[(n * 7919) % ids.length] ?? { id: '', teamId: '' };
const WAYS: readonly Way[] = [
  { name: 'no budget, no limit', next: () => recordOf(plain, null) },
  { name: 'budgets and limits, one key', next: () => recordOf(ids[0]?.id ?? '', ids[0]?.teamId ?? null) },
  { name: 'budgets and limits, every call another key', next: (n) => recordOf(anyOf(n).id, anyOf(n).teamId) },
];

const samples = WAYS.map((): number[] => []);
let sum = 0;
for (let round = -2; round < rounds; round += 1)
  for (const [i, way] of WAYS.entries()) {
    const before = process.cpuUsage();
    for (let n = 0; n < calls; n += 1) sum += call(way.next(n));
    const { user, system } = process.cpuUsage(before);
    if (round >= 0) samples[i]?.push((user + system) / calls);
  }
if (sum === 0) throw new Error('no call had limits');
const found: AccessSteps = {
  steps: WAYS.map(({ name }, i) => ({
    name,
    medianUs: quantile([...(samples[i] ?? [])], 0.5),
    leastUs: quantile([...(samples[i] ?? [])], 0),
  })),
  objectsMb,
  countedMb: heapMb() - emptyMb,
};
if (process.send === undefined) console.log(found);
else process.send(found, () => process.exit());
