// The header list of an upstream request. Precedence: reserved > operator's static > the key's > client's. Pure.
import type { Secret } from '../../config/secret.ts';
import type { Route } from '../../config/snapshot.ts';
import type { HeaderRules } from './header-rules.ts';
import type { Telling } from './identity-headers.ts';
import type { RequestHeaders } from './request-headers.ts';

/** The part of the list that depends on the route alone, made when the configuration is loaded. */
export interface RouteHeaders {
  /** Flat name, value list: credential, agent, operator's headers. A session header that is stamped is not among them. */
  readonly fixed: readonly string[];
  /** Lower-case names in `fixed`: a client's header of that name is replaced. */
  readonly names: ReadonlySet<string>;
}

/** Builds the fixed part. The bearer wins over an `authorization` of the operator when the entry has a key. */
export function routeHeaders(route: Route, userAgent: string): RouteHeaders {
  const sessionHeader = route.gateway.session;
  const fixed: string[] = [];
  const names = new Set<string>();
  const put = (name: string, value: string): void => {
    if (names.has(name)) return;
    names.add(name);
    fixed.push(name, value);
  };
  if (route.apiKey !== null) put('authorization', `Bearer ${route.apiKey.reveal()}`);
  for (const [name, value] of route.staticHeaders) {
    // Without forwarding nothing is stamped, and then an operator's fixed session id is the only one there is.
    const isTwin = name !== sessionHeader && name.replaceAll('_', '-') === sessionHeader; // CGI readers see no difference
    if (!isTwin && (name !== sessionHeader || !route.forwardClientHeaders)) put(name, value.reveal());
  }
  put('user-agent', userAgent);
  return { fixed, names };
}

/** What tells the gateway whose call it is; empty while forwarding is off. */
export interface Stamp {
  /** The header that no operator can set while it is stamped; null = none. */
  readonly session: string | null;
  /** Flat name, value list. */
  readonly headers: readonly string[];
  /** What of it is written and what is left out, for `decide`. */
  readonly tellings: readonly Telling[];
  /** Trace context, flat: goes with every call while tracing is on, whatever is forwarded. */
  readonly trace?: readonly string[];
}

/** What the list depends on beside the route's own headers. */
export interface HeaderPolicy extends Pick<Route, 'apiKey' | 'forwardClientHeaders'> {
  /** What the caller's key brings along, lower-case names; such calls are stamped even where nothing is forwarded. */
  readonly keyHeaders?: readonly (readonly [name: string, value: Secret])[] | null;
}

const NONE: readonly string[] = Object.freeze([]);

export interface HeaderDecision {
  readonly name: string;
  /** Never the value of a secret. */
  readonly action: 'forwarded' | 'stamped' | 'replaced' | 'dropped' | 'set';
  readonly rule: string;
}

/**
 * The flat header list of one upstream request: content type and accept of the client, the route's own, the client's
 * forwardable ones, the session stamp. `decide`, when given, is told what happened to each header and why.
 */
export function upstreamHeaders(
  rules: HeaderRules,
  client: RequestHeaders,
  policy: HeaderPolicy,
  own: RouteHeaders,
  stamp: Stamp,
  decide?: (decision: HeaderDecision) => void,
): string[] {
  const list = own.fixed.slice();
  const brought = broughtBy(rules, policy, own, stamp);
  const isTold = policy.forwardClientHeaders || brought !== null;
  // Only under a wildcard or with a key's stamp: the entry itself does not forward.
  if (isTold && stamp.session !== null && own.names.has(stamp.session))
    list.splice(list.indexOf(stamp.session), 2);
  if (client.contentType !== null && !own.names.has('content-type'))
    list.push('content-type', client.contentType);
  if (client.accept !== null && !own.names.has('accept') && brought?.has('accept') !== true)
    list.push('accept', client.accept);
  if (brought !== null) for (const [name, value] of brought) list.push(name, value);
  if (policy.forwardClientHeaders) {
    for (const i of client.forwardable) {
      const name = rules.classOf(client.raw[i] as string).name;
      const value = client.raw[i + 1] as string;
      if (own.names.has(name) || brought?.has(name) === true || stamps(stamp, name)) continue;
      if (!carriesCredential(value, client.credentials)) list.push(name, value);
    }
  }
  if (isTold) {
    for (let i = 0; i < stamp.headers.length; i += 2) {
      const name = stamp.headers[i] as string;
      if (name === stamp.session || !own.names.has(name)) list.push(name, stamp.headers[i + 1] as string);
    }
  }
  const { trace = NONE } = stamp;
  for (let i = 0; i < trace.length; i += 2) {
    const [name, value] = [trace[i] as string, trace[i + 1] as string];
    if (!own.names.has(name) && !carriesCredential(value, client.credentials)) list.push(name, value);
  }
  if (decide !== undefined) explain(rules, client, policy, own, stamp, decide);
  return list;
}

function stamps(stamp: Stamp, name: string): boolean {
  for (let i = 0; i < stamp.headers.length; i += 2) if (stamp.headers[i] === name) return true;
  return false;
}

/** The headers of the caller's key that may go: those of which neither we nor the operator have one; never a barred name. */
function broughtBy(
  rules: HeaderRules,
  policy: HeaderPolicy,
  own: RouteHeaders,
  stamp: Stamp,
): ReadonlyMap<string, string> | null {
  if (policy.keyHeaders === undefined || policy.keyHeaders === null) return null;
  const brought = new Map<string, string>();
  for (const [name, value] of policy.keyHeaders) {
    const isOurs = own.names.has(name) || stamps(stamp, name) || rules.classOf(name).barred;
    if (!isOurs) brought.set(name, value.reveal());
  }
  return brought;
}

/** A key that a client copied into a header of another name is still a key. */
function carriesCredential(value: string, credentials: readonly string[]): boolean {
  for (const credential of credentials) {
    if (credential.length >= 8 && value.includes(credential)) return true;
  }
  return false;
}

function explain(
  rules: HeaderRules,
  client: RequestHeaders,
  policy: HeaderPolicy,
  own: RouteHeaders,
  stamp: Stamp,
  decide: (decision: HeaderDecision) => void,
): void {
  for (const name of own.names) {
    if (name === stamp.session && policy.forwardClientHeaders) continue;
    if (name === 'authorization' && policy.apiKey !== null)
      decide({ name, action: 'set', rule: "the entry's api_key" });
    else if (name === 'user-agent') decide({ name, action: 'set', rule: 'names this proxy' });
    else decide({ name, action: 'set', rule: 'extra_headers of the operator' });
  }
  const forwardable = new Set(client.forwardable);
  for (let i = 0; i < client.raw.length; i += 2) {
    const header = rules.classOf(client.raw[i] as string);
    const { name } = header;
    const value = client.raw[i + 1] as string;
    if (name === 'content-type' || name === 'accept') {
      if (!own.names.has(name))
        decide({ name, action: 'forwarded', rule: 'describes the body or the answer' });
    } else if (stamps(stamp, name) || name === stamp.session) {
      const on = policy.forwardClientHeaders;
      decide({
        name,
        action: on ? 'replaced' : 'dropped',
        rule: !on
          ? 'forwarding is off'
          : name === stamp.session
            ? 'reserved: stamped below'
            : 'written anew for the gateway',
      });
    } else if (!header.forward) decide({ name, action: 'dropped', rule: header.rule });
    else if (!forwardable.has(i)) decide({ name, action: 'dropped', rule: 'listed in Connection' });
    else if (!policy.forwardClientHeaders) decide({ name, action: 'dropped', rule: 'forwarding is off' });
    else if (own.names.has(name))
      decide({ name, action: 'replaced', rule: 'extra_headers of the operator win' });
    else if (carriesCredential(value, client.credentials))
      decide({ name, action: 'dropped', rule: 'its value holds the key of the caller' });
    else decide({ name, action: 'forwarded', rule: header.rule });
  }
  const { trace = NONE } = stamp;
  for (let i = 0; i < trace.length; i += 2) {
    const name = trace[i] as string;
    if (!own.names.has(name) && !carriesCredential(trace[i + 1] as string, client.credentials))
      decide({ name, action: 'stamped', rule: 'trace context of the request' });
  }
  for (const { name, sent, why } of stamp.tellings) {
    if (!sent) decide({ name, action: 'dropped', rule: why });
    else if (name === stamp.session || !own.names.has(name)) decide({ name, action: 'stamped', rule: why });
  }
}
