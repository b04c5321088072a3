// The header list of an upstream request. Precedence: the proxy's own > the operator's > the key's > the client's. One
// pass decides and, when `note` is given, reports why: `explain` prints the actual decisions. Pure.
import { dashed } from '../../config/header-names.ts';
import type { Secret } from '../../config/secret.ts';
import type { Deployment } from '../../config/snapshot.ts';
import type { HeaderRule, HeaderRules, HeaderVerdict } from './header-rules.ts';
import { hasHeader, joinLines } from './flat-list.ts';
import { identityNames, writeIdentity, type GatewayIdentity } from './identity-headers.ts';
import { carriesCredential, type RequestHeaders } from './request-headers.ts';

/** The part of the list that depends on the deployment alone, made when the configuration is loaded. */
export interface DeploymentHeaders {
  readonly gateway: Deployment['gateway'];
  /** Flat name, value list: credential, agent, operator's headers. A session header that is stamped is not among them. */
  readonly fixed: readonly string[];
  /** Names in `fixed`, dashes for underscores: a client's header of that name is replaced. */
  readonly names: ReadonlySet<string>;
  /** Why each header of `fixed` is there, in that order. */
  readonly rules: readonly string[];
  /** Of these list headers the values of operator, client and vendor go as one line. */
  readonly joined: readonly string[];
  /** Headers of clients that go even while forwarding is off. */
  readonly passed: ReadonlySet<string>;
  /** Headers in which this gateway reads identity: only the proxy writes them. */
  readonly identityNames: ReadonlySet<string>;
  /** Further identity headers have names that depend on the call. */
  readonly writesEach: boolean;
}

/** What of a deployment makes its headers. */
type HeaderSource = Pick<
  Deployment,
  | 'gateway'
  | 'apiKey'
  | 'credentialHeader'
  | 'vendorHeaders'
  | 'joinedHeaders'
  | 'passedHeaders'
  | 'staticHeaders'
  | 'forwardClientHeaders'
>;

/** Builds the fixed part. The key wins over a header of the operator in the same place. */
export function deploymentHeaders(deployment: HeaderSource, userAgent: string): DeploymentHeaders {
  const sessionHeader = deployment.gateway.session;
  const fixed: string[] = [];
  const rules: string[] = [];
  const exact = new Set<string>();
  const put = (name: string, value: string, rule: string): void => {
    if (exact.has(name)) return;
    exact.add(name);
    fixed.push(name, value);
    rules.push(rule);
  };
  const { apiKey, credentialHeader } = deployment;
  if (apiKey !== null) {
    const scheme = credentialHeader === 'authorization' ? 'Bearer ' : '';
    put(credentialHeader, `${scheme}${apiKey.reveal()}`, "the entry's api_key");
  }
  for (const [name, value] of deployment.staticHeaders) {
    // Without forwarding nothing is stamped, and then an operator's fixed session id is the only one there is.
    const isTwin = name !== sessionHeader && dashed(name) === sessionHeader; // CGI readers see no difference
    if (!isTwin && (name !== sessionHeader || !deployment.forwardClientHeaders))
      put(name, value.reveal(), 'extra_headers of the operator');
  }
  for (const [name, value] of deployment.vendorHeaders) put(name, value, 'the API of the vendor asks for it');
  for (const [name, value] of deployment.joinedHeaders) {
    fixed.push(name, value);
    rules.push('the API of the vendor asks for it with such a key');
    joinLines(fixed, name);
    if (fixed.length / 2 < rules.length) rules.pop();
  }
  put('user-agent', userAgent, 'names this proxy');
  const names = new Set([...exact].map(dashed));
  const { gateway } = deployment;
  const writesEach = gateway.tags?.as === 'each' || gateway.metadata?.as === 'each';
  const { passedHeaders: passed } = deployment;
  const joined = deployment.joinedHeaders.map(([name]) => name);
  return { gateway, fixed, names, rules, joined, passed, identityNames: identityNames(gateway), writesEach };
}

/** What one call brings along, beside the headers of its client. */
export interface CallHeaders {
  /** Client headers go upstream. */
  readonly forwards: boolean;
  /** Headers of the caller's key, lower-case names; such calls carry identity even where nothing is forwarded. */
  readonly keyHeaders: readonly (readonly [name: string, value: Secret])[] | null;
  readonly identity: GatewayIdentity;
  /** Trace context, flat: goes with every call while tracing is on, whatever is forwarded. */
  readonly trace: readonly string[];
  readonly hasBody: boolean;
}

/** What happened to one header. Never holds a value. */
export interface HeaderDecision extends HeaderVerdict {
  readonly name: string;
}

const verdict = (action: HeaderVerdict['action'], rule: string): HeaderVerdict => ({ action, rule });
const NOMINATED = verdict('dropped', 'listed in Connection');
const OFF = verdict('dropped', 'forwarding is off');
const REPEATED = verdict('dropped', 'may stand once only: the last one counts');
const HOLDS_KEY = verdict('dropped', 'its value holds the key of the caller');
const OPERATOR_WINS = verdict('replaced', 'extra_headers of the operator win');
const KEY_WINS = verdict('replaced', 'the headers of the key win');
const OF_THE_BODY = verdict('dropped', 'describes the body');
const KEY_HEADER = verdict('set', 'a header of the key');
const WRITTEN_ANEW = verdict('replaced', 'written anew for the gateway');
const SESSION_STAMPED = verdict('replaced', 'reserved: stamped below');
const OTHER_SESSION = verdict('dropped', 'states another session than the one that is stamped');
const NOT_OURS = verdict('dropped', 'only the proxy tells the gateway whose call it is');
const JSON_BODY = verdict('set', 'the client sent none that can go');
const NONE: readonly string[] = Object.freeze([]);
const TRACE = verdict('stamped', 'trace context of the request');

/**
 * The flat header list of one upstream request.
 * @param note receives what happened to each header and why
 */
export function upstreamHeaders(
  rules: HeaderRules,
  client: RequestHeaders,
  deployment: DeploymentHeaders,
  call: CallHeaders,
  note?: (decision: HeaderDecision) => void,
): string[] {
  const { session } = deployment.gateway;
  const sendsIdentity = call.forwards || call.keyHeaders !== null;
  const list = deployment.fixed.slice();
  // Only under a wildcard or with the identity of a key: the deployment itself does not forward.
  const hidden = sendsIdentity && session !== null && deployment.names.has(session) ? session : null;
  if (hidden !== null) list.splice(list.indexOf(hidden), 2);
  if (note !== undefined) noteFixed(deployment, hidden, note);

  const decisions: HeaderDecision[] | null = note === undefined ? null : []; // noted last, as the headers stand last
  const identity = sendsIdentity ? identityHeaders(client, deployment, call, decisions) : NONE;
  const keyNames =
    call.keyHeaders === null ? null : addKeyHeaders(list, rules, deployment, identity, call, note);

  let hasType = false;
  const placed: Placed = { client, deployment, call, identity, keyNames };
  for (let n = 0; n < client.rules.length; n += 1) {
    const rule = client.rules[n] as HeaderRule;
    if (rule.verdict.action === 'dropped' && note === undefined) continue; // most are, and nothing below could change that
    const decided = verdictOn(n, rule, placed);
    if (decided.action === 'forwarded') {
      list.push(rule.name, client.raw[2 * n + 1] as string);
      hasType ||= rule.role === 'content-type';
    }
    note?.({ name: rule.name, ...decided });
  }

  if (call.hasBody && !hasType) {
    list.push('content-type', 'application/json');
    note?.({ name: 'content-type', ...JSON_BODY });
  }
  for (let i = 0; i < call.trace.length; i += 2) {
    const [name, value] = [call.trace[i] as string, call.trace[i + 1] as string];
    if (deployment.names.has(name)) continue;
    const holdsKey = carriesCredential(value, client.credentials);
    if (!holdsKey) list.push(name, value);
    note?.({ name, ...(holdsKey ? HOLDS_KEY : TRACE) });
  }
  for (let i = 0; i < identity.length; i += 1) list.push(identity[i] as string);
  if (note !== undefined) decisions?.forEach((decision) => note(decision));
  for (const name of deployment.joined) joinLines(list, name);
  return list;
}

/** The headers of identity that go, flat. @param decisions gets one for each of them; null = nobody asks */
function identityHeaders(
  { credentials }: RequestHeaders,
  { gateway, names }: DeploymentHeaders,
  { identity }: CallHeaders,
  decisions: HeaderDecision[] | null,
): readonly string[] {
  const { session } = gateway;
  const list: string[] = [];
  writeIdentity(
    gateway,
    identity,
    (name, value, rule) => {
      if (name !== session && names.has(name)) return;
      const holdsKey = name !== session && carriesCredential(value, credentials); // a session id never holds one
      if (!holdsKey) list.push(name, value);
      decisions?.push({ name, ...(holdsKey ? HOLDS_KEY : verdict('stamped', rule)) });
    },
    (name, rule) => decisions?.push({ name, ...verdict('dropped', rule) }),
  );
  return list;
}

/** What the headers of a client stand beside. */
interface Placed {
  readonly client: RequestHeaders;
  readonly deployment: DeploymentHeaders;
  readonly call: CallHeaders;
  readonly identity: readonly string[];
  /** Of the headers of the caller's key, dashes for underscores; null = it has none. */
  readonly keyNames: ReadonlySet<string> | null;
}

/** What becomes of header `n` of the client. */
function verdictOn(
  n: number,
  rule: HeaderRule,
  { client, deployment, call, identity, keyNames }: Placed,
): HeaderVerdict {
  const { forwards } = call;
  const { name, plainName } = rule;
  if (name === deployment.gateway.session) return forwards ? SESSION_STAMPED : OFF;
  if (rule.verdict.action !== 'forwarded') return rule.verdict;
  if (!forwards && !rule.always && !deployment.passed.has(name)) return OFF;
  if (rule.role !== 'content-type' && client.nominated?.has(name) === true) return NOMINATED;
  if (deployment.names.has(plainName)) return OPERATOR_WINS;
  if (isIdentity(plainName, deployment, identity))
    return hasHeader(identity, plainName) ? WRITTEN_ANEW : NOT_OURS;
  if (keyNames?.has(plainName) === true) return KEY_WINS;
  if (rule.once && isRepeated(client.rules, n, name)) return REPEATED;
  const value = client.raw[2 * n + 1] as string;
  if (statesAnother(rule, value, deployment, call)) return OTHER_SESSION;
  return carriesCredential(value, client.credentials) ? HOLDS_KEY : rule.verdict;
}

/**
 * LiteLLM 1.106 reads a session from the trace id before the session id, so both say the same. It reads the vendors' names
 * (`x-claude-code-session-id`) only where neither is there; Bifrost does too, so those pass.
 */
function statesAnother(
  { role }: HeaderRule,
  value: string,
  { gateway }: DeploymentHeaders,
  { identity }: Pick<CallHeaders, 'identity'>,
): boolean {
  return role === 'trace' && gateway.session !== null && value !== identity.sessionId;
}

/** Another header of that name follows. */
function isRepeated(rules: readonly HeaderRule[], n: number, name: string): boolean {
  for (let later = n + 1; later < rules.length; later += 1)
    if ((rules[later] as HeaderRule).name === name) return true;
  return false;
}

/** The gateway reads identity from this header. */
function isIdentity(plainName: string, deployment: DeploymentHeaders, identity: readonly string[]): boolean {
  return deployment.identityNames.has(plainName) || (deployment.writesEach && hasHeader(identity, plainName));
}

/** Adds the headers of the caller's key that may go. @returns their names, dashes for underscores */
function addKeyHeaders(
  list: string[],
  rules: HeaderRules,
  deployment: DeploymentHeaders,
  identity: readonly string[],
  call: Pick<CallHeaders, 'keyHeaders' | 'identity'>,
  note?: (decision: HeaderDecision) => void,
): ReadonlySet<string> {
  const names = new Set<string>();
  for (const [name, value] of call.keyHeaders ?? []) {
    const rule = rules.ruleOf(name);
    const isOther = statesAnother(rule, value.reveal(), deployment, call);
    const decided = isOther ? OTHER_SESSION : verdictOnKeyHeader(rule, deployment, identity);
    note?.({ name, ...decided });
    if (decided !== KEY_HEADER) continue;
    names.add(dashed(name));
    list.push(name, value.reveal());
  }
  return names;
}

function verdictOnKeyHeader(
  rule: HeaderRule,
  deployment: DeploymentHeaders,
  identity: readonly string[],
): HeaderVerdict {
  if (rule.barred) return rule.verdict;
  if (rule.role === 'content-type') return OF_THE_BODY;
  if (deployment.names.has(rule.plainName)) return OPERATOR_WINS;
  return isIdentity(rule.plainName, deployment, identity) ? NOT_OURS : KEY_HEADER;
}

function noteFixed(
  deployment: DeploymentHeaders,
  hidden: string | null,
  note: (decision: HeaderDecision) => void,
): void {
  deployment.rules.forEach((rule, n) => {
    const name = deployment.fixed[2 * n] as string;
    if (name !== hidden) note({ name, action: 'set', rule });
  });
}
