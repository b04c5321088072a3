// A year of spend rows as a company of some hundred people with agents makes them, in the order of time and the same
// at every run: keys, teams, users, sessions of some forty calls, tags, failures. Nothing of it is random twice.
import { CallIds } from '../../proxy/base/ids.ts';
import type { SpendRecord } from '../../proxy/spend/record/record.ts';

const START_MS = Date.parse('2025-11-01T00:00:00Z');
const YEAR_MS = 365 * 86_400_000;
const KEYS = 60;
const TEAMS = 12;
const USERS = 300;
const OPEN_SESSIONS = 200;
const CALLS_PER_SESSION = 40;
const MODELS = [
  'claude-sonnet',
  'claude-opus',
  'gpt-5',
  'gpt-5-mini',
  'gemini-pro',
  'gemini-flash',
  'qwen',
  'kimi',
];

const SMALL_MODEL = 'gpt-5-mini';

interface Session {
  readonly id: string;
  readonly user: number;
  readonly agent: string;
  readonly model: string;
}

/** xorshift32: fast, and the same everywhere. */
class SeededRandom {
  #state = 0x9e3779b9;

  below(count: number): number {
    let x = this.#state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.#state = x >>> 0;
    return this.#state % count;
  }

  hex(chars: number): string {
    let text = '';
    while (text.length < chars)
      text += this.below(2 ** 32)
        .toString(16)
        .padStart(8, '0');
    return text.slice(0, chars);
  }
}

/** `count` rows, spread evenly over the year. */
export function* yearOfRows(count: number): Generator<SpendRecord> {
  const random = new SeededRandom();
  const ids = new CallIds();
  const fresh = (): Session => ({
    id: random.hex(32).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'),
    user: random.below(USERS),
    agent: `agent:${random.below(20)}`,
    model: MODELS[random.below(MODELS.length)] as string,
  });
  const sessions = Array.from({ length: OPEN_SESSIONS }, fresh);
  for (let n = 0; n < count; n += 1) {
    const startMs = START_MS + Math.floor((n / count) * YEAR_MS);
    const slot = random.below(OPEN_SESSIONS);
    if (random.below(CALLS_PER_SESSION) === 0) sessions[slot] = fresh();
    yield recordOf(ids.next(startMs), startMs, sessions[slot] as Session, random);
  }
}

function recordOf(
  requestId: string,
  startMs: number,
  { id, user, agent, model }: Session,
  random: SeededRandom,
): SpendRecord {
  const group = random.below(10) === 0 ? SMALL_MODEL : model; // agents ask a small model for titles and summaries
  const prompt = 2_000 + random.below(60_000);
  const completion = 20 + random.below(1_500);
  const cached = random.below(prompt);
  const failed = random.below(33) === 0;
  const spendPico = (prompt - cached) * 3_000_000 + cached * 300_000 + completion * 15_000_000;
  return {
    requestId,
    callType: random.below(4) === 0 ? 'aresponses' : 'acompletion',
    startMs,
    apiKeyHash: (user % KEYS).toString(16).padStart(64, 'c0ffee'),
    teamId: `team-${user % TEAMS}`,
    userId: `user-${user}`,
    model: `vendor/${group}-2026`,
    modelGroup: group,
    modelId: `deployment-${group}`,
    provider: 'litellm_proxy',
    apiBase: 'https://gateway.example.com',
    sessionId: id,
    sessionSource: 'x-litellm-session-id',
    endUser: `user-${user}`,
    profile: null,
    tags: [`team:${user % TEAMS}`, agent],
    spendLogsMetadata: { project: `project-${user % 25}` },
    clientCallId: null,
    clientAddress: '10.0.0.7',
    userAgent: 'openai-python/2.8.0',
    client: 'openai-python',
    stream: true,
    requestBytes: prompt * 4,
    warnings: [],
    endMs: startMs + 2_000 + random.below(20_000),
    firstByteMs: startMs + 500 + random.below(1_000),
    status: failed ? 'failure' : 'success',
    endReason: failed ? 'upstream_error' : 'complete',
    httpStatus: failed ? 529 : 200,
    errorCode: null,
    errorText: null,
    errorSource: failed ? 'upstream' : null,
    attempts: 1,
    attemptLog: [],
    responseBytes: completion * 5,
    upstreamId: `chatcmpl-${random.hex(24)}`,
    upstreamCallId: random.hex(32),
    usage: {
      prompt_tokens: prompt,
      completion_tokens: completion,
      total_tokens: prompt + completion,
      prompt_tokens_details: { cached_tokens: cached },
    },
    usageSource: 'upstream',
    tokens: {
      prompt,
      completion,
      total: prompt + completion,
      cacheRead: cached,
      cacheWrite: null,
      reasoning: null,
      cacheWrite1h: null,
      inputAudio: null,
      outputAudio: null,
      inputImage: null,
      outputImage: null,
    },
    estimatedBy: null,
    units: null,
    serviceTier: null,
    spendPico,
    costSource: 'entry',
    costReason: '',
    costs: { entry: spendPico },
    priceVersion: '0123456789ab',
  };
}
