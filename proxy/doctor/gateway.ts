// One gateway behind the proxy, asked for what costs nothing: its list of models with the key of the entries. Tells a wrong
// path from a wrong key, a web page from an API, and a slow gateway from none.
import { ownPath } from '../../config/upstream-path.ts';
import { GetTimeout } from '../upstream/get.ts';
import { codeOf, failureOf } from '../upstream/failures.ts';
import { ProxyFailure } from '../upstream/bad-response.ts';
import { isPage, messageOf, shownReply, type Reply } from './ask.ts';
import type { Code } from './codes.ts';
import type { Reporter } from './finding.ts';
import { findBase } from './api-base.ts';
import type { GatewayClient, GatewayLimits } from './gateway-group.ts';
import { listedModels, checkModels, type ListedModels } from './model-names.ts';
import { tlsCode } from './network.ts';

const LIST_BYTES = 8 * 1024 * 1024;
const SKEW_MS = 30_000;
const SECOND_MS = 1_000;

/** What was learned, for the calls that follow. */
export interface GatewayFound {
  /** Calls make sense: address and key are right, as far as this could be seen. */
  readonly isUsable: boolean;
  readonly list: ListedModels | null;
  /** Names that it does not serve. */
  readonly unknown: ReadonlySet<string>;
  /** Its clock minus ours; null = it does not say. */
  readonly skewMs: number | null;
}

export const UNUSABLE: GatewayFound = { isUsable: false, list: null, unknown: new Set(), skewMs: null };

export async function checkGateway(
  client: GatewayClient,
  limits: GatewayLimits,
  report: Reporter,
): Promise<GatewayFound> {
  const { deployment, entries } = client.group;
  const { origin } = deployment;
  const path = ownPath(deployment, 'models');
  const asked = await client.ask({ method: 'GET', path }, { ...limits, maxBytes: LIST_BYTES });
  const [first] = entries;
  const basePlace = first?.basePlace ?? null;
  const what = `GET ${origin}${path}`;
  if (!asked.ok) {
    reportFailure(
      asked.error,
      { what, place: basePlace, timeoutMs: limits.timeoutMs, apiBase: deployment.apiBase },
      report,
    );
    return UNUSABLE;
  }
  const { reply } = asked;
  const seen = `${what} ${shownReply(reply)}`;
  const skewMs = skewOf(reply, limits.now());
  checkClock(skewMs, report);
  const refusal = refusalOf(reply, deployment.apiKey !== null || hasAuthorization(client));
  if (refusal === 'path') {
    const found = await findBase(client, limits, { seen, place: basePlace }, report);
    return { ...UNUSABLE, isUsable: found, skewMs };
  }
  if (refusal !== null) {
    const isKey = refusal === 'TL-1504' || refusal === 'TL-1513';
    report.found(isKey ? 'key' : 'answer', refusal, {
      place: isKey ? (first?.keyPlace ?? null) : basePlace,
      seen,
      ...fixOf(refusal, reply, client),
    });
    return { ...UNUSABLE, skewMs, isUsable: refusal === 'TL-1509' };
  }
  report.passed('key', `${what} answered ${reply.status} in ${reply.headMs} ms`);
  const list = deployment.modelInPath ? null : listedModels(reply); // Azure lists models, not its deployments
  if (list === null) {
    report.found('models', 'TL-1507', { seen });
    return { ...UNUSABLE, isUsable: true, skewMs };
  }
  const unknown = await checkModels(list, client, limits, report);
  return { isUsable: true, list, unknown, skewMs };
}

function hasAuthorization({ group }: GatewayClient): boolean {
  return group.headers.some(
    (name, i) =>
      i % 2 === 0 &&
      /^(?:authorization|x-api-key|api-key|x-goog-api-key|x-portkey-api-key|x-bf-vk)$/i.test(name),
  );
}

/** The code for a response that is no success; `path`: this path does not exist. null = it is one. */
export function refusalOf(reply: Reply, hasKey: boolean): Code | 'path' | null {
  const { status } = reply;
  const page = isPage(reply);
  if (status === 404 || status === 405) return 'path';
  if (status >= 500) return 'TL-1508';
  if (page) return 'TL-1505';
  if (status >= 300 && status < 400) return 'TL-1511';
  if (status === 401 || status === 403) return hasKey ? 'TL-1504' : 'TL-1513';
  if (status === 407) return 'TL-1404';
  if (status === 402 || status === 429) return 'TL-1509';
  if (status >= 400) return saysKey(reply) ? 'TL-1504' : 'TL-1508';
  return null;
}

/** Some gateways refuse a key with 400; LiteLLM without a database says of a key it does not know `No connected db.` */
const saysKey = (reply: Reply): boolean =>
  /api[ _-]?key|authenticat|unauthorized|^no connected db/i.test(messageOf(reply));

function fixOf(code: Code, reply: Reply, { group }: GatewayClient): { readonly fix?: string } {
  if (code === 'TL-1511') {
    const location = URL.parse(reply.headers.get('location') ?? '', group.deployment.origin);
    return location === null
      ? {}
      : {
          fix: `see whether ${location.origin}${location.pathname} is the API, then put its base into api_base`,
        };
  }
  if (code !== 'TL-1504') return {};
  const [first] = group.entries;
  const names = group.entries.map(({ deployment }) => deployment.group);
  const others = names.length > 1 ? ` (the same key serves ${names.length} entries)` : '';
  return {
    fix: `put a key of ${group.deployment.apiBase} into the variable that api_key at ${first?.keyPlace ?? 'the entry'} names, and restart${others}`,
  };
}

interface FailurePlace {
  readonly what: string;
  readonly place: string | null;
  readonly timeoutMs: number;
  readonly apiBase: string;
}

/** A request that ended without a response. */
function reportFailure(
  error: Error,
  { what, place, timeoutMs, apiBase }: FailurePlace,
  report: Reporter,
): void {
  if (error instanceof GetTimeout) {
    const seen = `${what}: connected, but no answer within ${timeoutMs} ms`;
    return report.found('answer', 'TL-1501', { place, seen });
  }
  const fault = failureOf(error, apiBase);
  const seen = `${what}: ${fault.message}`;
  if (error instanceof ProxyFailure) return report.found('outgoing proxy', 'TL-1404', { place, seen });
  report.found('answer', tlsCode(codeOf(error)) ?? 'TL-1512', { place, seen });
}

/** By the `date` header, which has whole seconds. */
function skewOf({ headers }: Reply, nowMs: number): number | null {
  const ms = Date.parse(headers.get('date') ?? '');
  return Number.isNaN(ms) ? null : ms + SECOND_MS / 2 - nowMs;
}

function checkClock(skewMs: number | null, report: Reporter): void {
  if (skewMs === null) return report.skipped('clock', 'the gateway sends no date');
  const seconds = Math.round(Math.abs(skewMs) / SECOND_MS);
  const seen = `its clock is ${seconds} s ${skewMs < 0 ? 'behind' : 'ahead of'} this one`;
  if (Math.abs(skewMs) > SKEW_MS) report.found('clock', 'TL-1510', { seen });
  else report.passed('clock', seconds < 2 ? 'its clock agrees' : seen);
}
