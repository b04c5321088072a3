// One attempt to open a session: the handshake with one deployment, with its credential, its headers and its clocks. Ends with
// a socket, with a response that refuses, or with a fault.
import type { Buffer } from 'node:buffer';
import type { Deployment } from '../../../config/snapshot.ts';
import { upstreamPath } from '../../../config/upstream-path.ts';
import { boundedTimer } from '../../base/bounded-timer.ts';
import { Fault } from '../../errors/fault.ts';
import { hasHeader, withoutHeaders } from '../../headers/flat-list.ts';
import { readResponseHead } from '../../headers/response-headers.ts';
import type { HeaderDecision } from '../../headers/upstream-headers.ts';
import { REALTIME } from '../../protocols/realtime/realtime.ts';
import { concealInBytes, concealInHeaders } from '../../relay/conceal-key.ts';
import type { Outcome } from '../../relay/outcome.ts';
import { NOTHING_READ } from '../../relay/tap.ts';
import { failureOf } from '../../upstream/failures.ts';
import { openUpgrade, type UpgradeRequest, type UpgradeResponse } from '../../upstream/upgrade.ts';
import { headersFor, type Explainer } from '../build-upstream-request.ts';
import type { Exchange } from '../exchange.ts';
import type { Identity } from '../identity.ts';
import type { SelectedDeployment } from '../select-deployment.ts';
import { untilClientLeaves } from '../until-client-leaves.ts';
import { pathWithQuery } from '../upstream-query.ts';

export type OpenedUpgrade = Extract<UpgradeResponse, { is: 'open' }>;

/** `left`: the client is gone, or the proxy stops. */
export type DialEnd =
  | { readonly is: 'open'; readonly upgrade: OpenedUpgrade; readonly openAt: number }
  | { readonly is: 'refused'; readonly outcome: Outcome }
  | { readonly is: 'failed'; readonly fault: Fault }
  | { readonly is: 'left'; readonly why: Fault };

/** What a client may say of the version of the API. */
const BETA = /^[\w.=, -]{1,200}$/;
const BETA_HEADER = 'openai-beta';
const BETA_GOES = { action: 'forwarded', rule: 'a session always says its version of the API' } as const;

/** The request that opens a session at a deployment. @throws Fault duplicate_parameter */
export function upgradeRequest(
  x: Exchange,
  identity: Identity,
  selected: SelectedDeployment,
  subprotocols: readonly string[],
  explainer?: Pick<Explainer, 'query' | 'header'>,
): UpgradeRequest {
  const { deployment, upstreamModel } = selected;
  const { config } = deployment;
  const { metrics } = x.active.services;
  const named = `${config.modelInPath ? 'deployment' : 'model'}=${encodeURIComponent(upstreamModel)}`;
  const path = pathWithQuery(
    upstreamPath(config, REALTIME.path, upstreamModel),
    x.query,
    {
      documented: REALTIME.query,
      allowed: config.allowedQuery,
      own: config.upstreamQuery === '' ? named : `${config.upstreamQuery}&${named}`,
    },
    (decision) => {
      if (explainer !== undefined) explainer.query(decision);
      else if (decision.action === 'dropped' && decision.name !== 'model') metrics.queryParameterDropped();
    },
  );
  const decisions: HeaderDecision[] = [];
  const explain =
    explainer === undefined ? undefined : (one: HeaderDecision): void => void decisions.push(one);
  const headers = headersFor(x, selected, identity, false, explain);
  const sent = withBeta(x, headers, deployment.headers.names);
  for (const one of decisions)
    explainer?.header(one.name === BETA_HEADER && sent !== headers ? { ...one, ...BETA_GOES } : one);
  return {
    origin: config.origin,
    path,
    subprotocols,
    headers: sent,
  };
}

/** Without it a server of the beta API answers in another one; it goes whether or not other headers do. */
function withBeta(
  { headers: { raw } }: Exchange,
  headers: string[],
  own: ReadonlySet<string>,
): readonly string[] {
  const at = raw.findIndex((name, i) => i % 2 === 0 && name.toLowerCase() === BETA_HEADER);
  const beta = at === -1 ? null : (raw[at + 1] ?? null);
  const isThere = own.has(BETA_HEADER) || hasHeader(headers, BETA_HEADER);
  return beta === null || isThere || !BETA.test(beta) ? headers : [...headers, BETA_HEADER, beta];
}

/** Dials once. Never throws but for bugs. @param leftMs of the total timeout; 0 = there is none */
export async function dial(
  x: Exchange,
  selected: SelectedDeployment,
  request: UpgradeRequest,
  leftMs: number,
): Promise<DialEnd> {
  const { services } = x.active;
  const { config } = selected.deployment;
  const connector = services.pools.connector(config);
  if (connector === null) {
    const text = 'This model answers by itself (mock_response) and has no realtime sessions.';
    return { is: 'failed', fault: new Fault('parameter_not_allowed', text, { param: 'model' }) };
  }
  const { clock } = services;
  const startedAt = clock.mono();
  const clocks = new HandshakeClocks(config, leftMs);
  const opening = openUpgrade(connector, request, clocks.signal, () => clocks.connected());
  opening.catch(() => undefined); // where the client has left, nobody awaits it
  try {
    const abandon = (): void => clocks.abort(new Fault('client_gone', 'The client left.'));
    const end = await untilClientLeaves(x.res, { done: opening, abandon }, 'its session was being opened');
    if (end.kind === 'left') {
      void opening.then((late) => late.is === 'open' && late.socket.destroy()).catch(() => undefined);
      return { is: 'left', why: end.why };
    }
    const openAt = clock.mono();
    if (end.value.is === 'open') return { is: 'open', upgrade: end.value, openAt };
    return { is: 'refused', outcome: refusalOutcome(x, selected, end.value, { startedAt, openAt }) };
  } catch (thrown) {
    const fault = thrown instanceof Fault ? thrown : failureOf(thrown, config.apiBase, clocks.isConnected);
    return { is: 'failed', fault };
  } finally {
    clocks.stop();
  }
}

/** The clocks of a handshake: until it is connected, until it is answered, and until the session is open. The first to run out aborts it. */
class HandshakeClocks {
  readonly #controller = new AbortController();
  readonly #config: Pick<Deployment, 'apiBase' | 'clocks'>;
  readonly #total: NodeJS.Timeout | undefined;
  #step: NodeJS.Timeout | undefined;
  #isConnected = false;

  constructor(config: Pick<Deployment, 'apiBase' | 'clocks'>, leftMs: number) {
    const { apiBase, clocks } = config;
    this.#config = config;
    const late = `The upstream ${apiBase} opened no session within ${Math.ceil(leftMs)} ms.`;
    this.#total = this.#abortIn(leftMs, 'total_timeout', late);
    const text = `No connection to the upstream ${apiBase} within ${clocks.connectMs} ms.`;
    this.#step = this.#abortIn(clocks.connectMs, 'connect_timeout', text);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The handshake may have reached the upstream. */
  get isConnected(): boolean {
    return this.#isConnected;
  }

  connected(): void {
    const { apiBase, clocks } = this.#config;
    clearTimeout(this.#step);
    this.#isConnected = true;
    const text = `The upstream ${apiBase} did not answer the handshake within ${clocks.firstByteMs} ms.`;
    this.#step = this.#abortIn(clocks.firstByteMs, 'first_byte_timeout', text);
  }

  abort(fault: Fault): void {
    this.#controller.abort(fault);
  }

  stop(): void {
    clearTimeout(this.#step);
    clearTimeout(this.#total);
  }

  /** @param ms 0 = never */
  #abortIn(ms: number, code: HandshakeTimeout, text: string): NodeJS.Timeout | undefined {
    const act = (): void => this.abort(new Fault(code, text));
    return ms === 0 ? undefined : setTimeout(act, boundedTimer(ms)).unref();
  }
}

type HandshakeTimeout = 'connect_timeout' | 'first_byte_timeout' | 'total_timeout';

/** @param times monotonic ms */
function refusalOutcome(
  x: Exchange,
  { deployment: { config } }: SelectedDeployment,
  { status, headers, body }: Extract<UpgradeResponse, { is: 'refused' }>,
  { startedAt, openAt }: { readonly startedAt: number; readonly openAt: number },
): Outcome {
  const head = readResponseHead(headers, config.gateway, x.active.snapshot.dialect.headerPrefix);
  concealInHeaders(head.pass, config.apiKey);
  concealInBytes(body, config.apiKey);
  const shown = opensNothing(status) ? 502 : status;
  return {
    ...NO_SESSION,
    status: shown,
    end: 'upstream_error',
    firstByteAt: openAt,
    upstreamMs: openAt - startedAt,
    responseBytes: body.length,
    upstreamCallId: head.callId,
    retryAfter: head.retryAfter,
    contentEncoding: head.contentEncoding,
    unsent: [body],
    finish: sender(x, shown, opensNothing(status) ? withoutHeaders(head.pass, ELSEWHERE) : head.pass, body),
  };
}

/** What every outcome of a session has in common. */
export const NO_SESSION: Outcome = {
  end: 'complete',
  fault: null,
  readOn: null,
  status: null,
  firstByteAt: null,
  upstreamMs: 0,
  responseBytes: 0,
  reading: NOTHING_READ,
  upstreamCallId: null,
  upstreamCost: null,
  retryAfter: null,
  isStream: false,
  contentEncoding: null,
  unsent: null,
  finish: () => undefined,
};

/** An answer below 400 opens no session either: a redirect is not followed, and a client is not sent there. */
const opensNothing = (status: number): boolean => status < 400;

/** It sends a client elsewhere; what else does is held back of every response. */
const ELSEWHERE: ReadonlySet<string> = new Set(['content-location']);

/** Passes on a refusal: its status, its headers, its body. The headers of ours are given to `finish`. */
function sender(
  { res }: Exchange,
  status: number,
  passed: readonly string[],
  body: Buffer,
): Outcome['finish'] {
  return (own) => {
    if (res.headersSent || res.destroyed) return;
    res.writeHead(status, [...passed, ...own, 'content-length', String(body.length)]);
    res.end(body);
  };
}
