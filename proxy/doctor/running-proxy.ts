// The running proxy as its clients reach it: does it answer, is it ready, do all workers serve, does it serve this file,
// does the key open it, and do events of a stream arrive one by one through what stands in front of it.
import type { Secret } from '../../config/secret.ts';
import type { Snapshot } from '../../config/snapshot.ts';
import { GetTimeout } from '../upstream/get.ts';
import { failureOf } from '../upstream/failures.ts';
import type { Pool } from '../upstream/pool.ts';
import type { Pools } from '../upstream/pools.ts';
import { ask, isPage, objectOf, recordOf, shownReply, type Asked, type Reply } from './ask.ts';
import { storeFix } from './data.ts';
import type { Reporter } from './finding.ts';
import { DOCTOR_AGENT, DOCTOR_TAG } from './identity.ts';

const SOME_BYTES = 256 * 1024;
const METRICS_BYTES = 8 * 1024 * 1024;
const STREAM_BYTES = 1024 * 1024;

/** Asks the proxy at the URL that clients use. */
export class ProxyClient {
  /** Without credentials and query. */
  readonly shown: string;
  readonly key: Secret | null;
  readonly #pools: Pools;
  readonly #pool: Pool;
  readonly #place: { readonly origin: string; readonly allowH2: false };
  readonly #prefix: string;
  readonly #brand: string;
  readonly #mono: () => number;

  constructor(url: URL, key: Secret | null, brand: string, pools: Pools, mono: () => number) {
    this.key = key;
    this.#pools = pools;
    this.#place = { origin: url.origin, allowH2: false };
    this.#prefix = url.pathname.replace(/\/+$/, '').replace(/\/v1$/, '');
    this.#brand = brand;
    this.#mono = mono;
    this.#pool = pools.acquire(this.#place);
    this.shown = `${url.origin}${this.#prefix}`;
  }

  /** Without the key: what listens there may be something else. */
  getOpen(path: string, timeoutMs: number): Promise<Asked> {
    return this.#get(path, ['user-agent', DOCTOR_AGENT], timeoutMs, SOME_BYTES);
  }

  get(path: string, timeoutMs: number, maxBytes: number): Promise<Asked> {
    return this.#get(path, this.#headers([]), timeoutMs, maxBytes);
  }

  /** The stream of events at a steady pace, asked for with headers as agents send them. */
  events(timeoutMs: number): Promise<Asked> {
    return this.#get('/doctor/stream', this.#headers(this.agentHeaders), timeoutMs, SOME_BYTES);
  }

  /** Two events, and silence between them. */
  silence(seconds: number, timeoutMs: number): Promise<Asked> {
    const path = `/doctor/stream?silence=${seconds}`;
    return this.#get(path, this.#headers([]), seconds * 1000 + timeoutMs, SOME_BYTES);
  }

  /** Flat. */
  get agentHeaders(): readonly string[] {
    return [`x-${this.#brand}-session-id`, 'doctor', `x-${this.#brand}-tags`, DOCTOR_TAG];
  }

  #get(path: string, headers: readonly string[], timeoutMs: number, maxBytes: number): Promise<Asked> {
    const question = { method: 'GET', path: `${this.#prefix}${path}`, headers } as const;
    return ask(this.#pool, question, { timeoutMs, maxBytes, mono: this.#mono });
  }

  /** A chat call, tagged so that its spend row tells what it was. */
  call(body: object, timeoutMs: number): Promise<Asked> {
    const headers = this.#headers([`x-${this.#brand}-tags`, DOCTOR_TAG]);
    const path = `${this.#prefix}/v1/chat/completions`;
    const question = { method: 'POST', path, headers, body } as const;
    return ask(this.#pool, question, { timeoutMs, maxBytes: STREAM_BYTES, mono: this.#mono });
  }

  close(): void {
    this.#pools.release(this.#place);
  }

  #headers(more: readonly string[]): string[] {
    const key = this.key === null ? [] : ['authorization', `Bearer ${this.key.reveal()}`];
    return [...key, 'user-agent', DOCTOR_AGENT, ...more];
  }
}

interface ProxyQuestion {
  readonly timeoutMs: number;
  /** The URL was asked for: nobody there is an error. */
  readonly isNamed: boolean;
  /** Of the file, for comparison; null = it cannot be served. */
  readonly snapshot: Snapshot | null;
  /** null = not tried. */
  readonly idleProbeS: number | null;
}

/** @returns whether calls can be made through it */
export async function checkProxy(
  client: ProxyClient,
  question: ProxyQuestion,
  report: Reporter,
): Promise<boolean> {
  const { timeoutMs, isNamed } = question;
  const alive = await client.getOpen('/health/liveness', timeoutMs);
  if (!alive.ok) {
    const seen = `${client.shown}: ${whyOf(alive.error, timeoutMs)}`;
    if (isNamed) report.found('answer', 'TL-1301', { seen });
    else report.skipped('answer', `no proxy runs at ${client.shown}; --url names another one`);
    return false;
  }
  if (isPage(alive.reply) || alive.reply.status !== 200 || !alive.reply.text.includes('alive')) {
    const seen = `GET ${client.shown}/health/liveness ${shownReply(alive.reply)}`;
    if (alive.reply.status >= 502 && alive.reply.status <= 504)
      report.found('answer', 'TL-1301', { seen: `${seen}: a load balancer finds no proxy behind it` });
    else if (isNamed) report.found('answer', 'TL-1307', { seen });
    else report.skipped('answer', `something else listens at ${client.shown}; --url names the proxy`);
    return false;
  }
  report.passed('answer', `${client.shown} answers in ${alive.reply.headMs} ms`);
  const ready = await client.getOpen('/health/readiness', timeoutMs);
  const isReady = ready.ok ? checkReadiness(ready.reply, question, report) : false;
  if (!ready.ok) report.found('ready', 'TL-1302', { seen: whyOf(ready.error, timeoutMs) });
  const opens = await checkKey(client, timeoutMs, report);
  if (!opens) return false;
  await checkEvents(client, timeoutMs, report);
  if (question.idleProbeS !== null) await checkSilence(client, question.idleProbeS, timeoutMs, report);
  await checkMetrics(client, timeoutMs, report);
  return isReady;
}

function whyOf(error: Error, timeoutMs: number): string {
  if (error instanceof GetTimeout) return `no answer within ${timeoutMs} ms`;
  return failureOf(error, 'there').message.replace(/^The upstream there (?:cannot be reached: )?|\.$/g, '');
}

function checkReadiness(reply: Reply, { snapshot }: ProxyQuestion, report: Reporter): boolean {
  const body = objectOf(reply.text);
  const isReady = reply.status === 200;
  if (isReady) report.passed('ready', 'takes calls');
  else
    report.found('ready', 'TL-1302', {
      seen: typeof body['reason'] === 'string' ? body['reason'] : shownReply(reply),
    });
  const { configured, serving } = recordOf(body['workers']);
  if (typeof configured === 'number' && typeof serving === 'number') {
    if (serving < configured)
      report.found('workers', 'TL-1304', { seen: `${serving} of ${configured} workers serve` });
    else report.passed('workers', `${serving} of ${configured} serve`);
  }
  if (body['db'] === 'Not connected')
    report.found('store', 'TL-1206', {
      seen: 'readiness says db: Not connected',
      ...(snapshot === null ? {} : { fix: storeFix(snapshot.database) }),
    });
  if (body['keys_loaded'] === false)
    report.found('keys', 'TL-1207', { seen: 'readiness says keys_loaded: false' });
  if (body['counters'] === 'away')
    report.found('counters', 'TL-1208', { seen: 'readiness says counters: away' });
  else if (body['counters'] === 'shared') report.passed('counters', 'shared with other servers');
  const config = recordOf(body['config']);
  const [first] = Array.isArray(config['issues']) ? (config['issues'] as unknown[]) : [];
  if (config['last_reload'] === 'refused')
    report.found('reload', 'TL-1306', {
      seen: `last_reload: refused; ${typeof first === 'string' ? first : ''}`,
    });
  else if (
    snapshot !== null &&
    typeof config['version'] === 'string' &&
    config['version'] !== snapshot.version
  )
    report.found('reload', 'TL-1308', {
      seen: `it serves version ${config['version']}, this file is version ${snapshot.version} (models of /model/new count, too)`,
      level: 'info',
    });
  else report.passed('reload', 'it serves this configuration');
  return isReady;
}

async function checkKey(client: ProxyClient, timeoutMs: number, report: Reporter): Promise<boolean> {
  const asked = await client.get('/v1/models', timeoutMs, METRICS_BYTES);
  if (!asked.ok) report.found('key', 'TL-1301', { seen: whyOf(asked.error, timeoutMs) });
  else if (isPage(asked.reply))
    report.found('key', 'TL-1307', { seen: `GET /v1/models ${shownReply(asked.reply)}` });
  else if (client.key === null && asked.reply.status === 401)
    report.skipped('key, buffering, metrics', 'there is no key for the proxy: give one with --key-file');
  else if (asked.reply.status !== 200)
    report.found('key', 'TL-1303', { seen: `GET /v1/models ${shownReply(asked.reply)}` });
  else {
    report.passed('key', 'opens the proxy');
    return true;
  }
  return false;
}

/** How often a stream is judged: one that a busy machine was slow to read is not held against anybody. */
const ATTEMPTS = 3;

async function checkEvents(client: ProxyClient, timeoutMs: number, report: Reporter): Promise<void> {
  let seen = '';
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const asked = await client.events(timeoutMs + 5_000);
    if (!asked.ok || asked.reply.status !== 200)
      return report.skipped(
        'buffering and headers',
        `GET /doctor/stream ${asked.ok ? shownReply(asked.reply) : whyOf(asked.error, timeoutMs)}`,
      );
    const sent = [...asked.reply.text.matchAll(/"sent_ms":(\d+)/g)].map(([, ms]) => Number(ms));
    if (sent.length === 0) return report.skipped('buffering and headers', 'GET /doctor/stream has no events');
    if (attempt === 0) checkHeaders(client, asked.reply, report);
    const sentMs = (sent.at(-1) ?? 0) - (sent[0] ?? 0);
    const { pieceMs } = asked.reply;
    const arrivedMs = (pieceMs.at(-1) ?? 0) - (pieceMs[0] ?? 0);
    seen = `${sent.length} events were sent over ${sentMs} ms and arrived within ${arrivedMs} ms`;
    if (arrivedMs >= sentMs / 4) return report.passed('buffering', `events arrive one by one: ${seen}`);
  }
  report.found('buffering', 'TL-1305', { seen });
}

/** Whatever stands in front of the proxy closes what is idle for longer than it allows. */
async function checkSilence(
  client: ProxyClient,
  seconds: number,
  timeoutMs: number,
  report: Reporter,
): Promise<void> {
  const asked = await client.silence(seconds, timeoutMs);
  const probe = `a stream that is to be silent for ${seconds} s`;
  if (!asked.ok)
    return report.found('idle timeout', 'TL-1310', { seen: `${probe}: ${whyOf(asked.error, timeoutMs)}` });
  const { status, text, pieceMs, endMs } = asked.reply;
  const events = text.match(/"sent_ms":/g)?.length ?? 0;
  if (status === 200 && events > 2)
    return report.skipped('idle timeout', 'this version of the proxy cannot be silent for a time');
  if (status === 200 && events === 2 && text.includes('[DONE]'))
    return report.passed('idle timeout', `a stream may be silent for ${seconds} s`);
  if (status >= 400 && status < 500)
    return report.skipped('idle timeout', `GET /doctor/stream ${shownReply(asked.reply)}`);
  const silentMs = endMs - (pieceMs[0] ?? 0);
  const seen = status === 200 ? `is cut after ${(silentMs / 1000).toFixed(1)} s` : shownReply(asked.reply);
  report.found('idle timeout', 'TL-1310', { seen: `${probe} ${seen}` });
}

/** The proxy names the headers that arrived, without their values. */
function checkHeaders(client: ProxyClient, { text }: Reply, report: Reporter): void {
  const [, list] = /"headers":(\[[^\]]*\])/.exec(text) ?? [];
  if (list === undefined)
    return report.skipped('headers', 'this version does not name the headers that arrive');
  const arrived = new Set(JSON.parse(list) as readonly string[]);
  const sent = client.agentHeaders.filter((_, i) => i % 2 === 0);
  const missing = sent.filter((name) => !arrived.has(name));
  if (missing.length === 0) return report.passed('headers', `${sent.join(', ')} arrive`);
  report.found('headers', 'TL-1309', { seen: `${missing.join(', ')} did not arrive at the proxy` });
}

async function checkMetrics(client: ProxyClient, timeoutMs: number, report: Reporter): Promise<void> {
  const asked = await client.get('/metrics', timeoutMs, METRICS_BYTES);
  if (!asked.ok) return report.skipped('metrics', whyOf(asked.error, timeoutMs));
  const { status, text } = asked.reply;
  if (status !== 200)
    return report.skipped('metrics', `GET /metrics answered ${status}; they may have a port of their own`);
  const isText = /^# HELP throughline_/m.test(text);
  if (isText) report.passed('metrics', `${text.split('\n# HELP ').length} metrics`);
  else report.found('metrics', 'TL-1307', { seen: `GET /metrics ${shownReply(asked.reply)}` });
}
