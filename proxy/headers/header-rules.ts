// What each request header name means to the proxy: its role, and whether a client's header of that name may go
// upstream, as far as the name alone tells. One rule per name, cached: a request brings a dozen names, and they repeat.
import type { Dialect } from '../../config/dialect.ts';
import { dashed, KEY_HEADERS, neverPassed, SUBPROTOCOL_HEADER } from '../../config/header-names.ts';
import { steeringOf, type FindSteering, type SteeringRule } from '../../config/resolve/gateways/steering.ts';
import type { HeaderSettings } from '../../config/snapshot.ts';

/** What the proxy does with a header itself; `none` = nothing. */
type HeaderRole =
  | 'none'
  | 'host'
  | 'content-type'
  | 'content-length'
  | 'content-encoding'
  | 'transfer-encoding'
  | 'connection'
  | 'accept'
  | 'user-agent'
  | 'credential'
  | 'session'
  | 'trace'
  | 'vendor-session'
  | 'tags'
  | 'spend-metadata'
  | 'call-id'
  | 'timeout'
  | 'stream-timeout'
  | 'end-user'
  | 'traceparent'
  | 'tracestate';

/** What happens to a header of the client, or to one of ours, and why. */
export interface HeaderVerdict {
  readonly action: 'forwarded' | 'stamped' | 'replaced' | 'dropped' | 'set';
  /** The rule, as `explain` prints it. */
  readonly rule: string;
}

export interface HeaderRule {
  /** Lower-case name. */
  readonly name: string;
  /** The name with dashes for underscores: it collides with a header of ours even if only its twin does. */
  readonly plainName: string;
  readonly role: HeaderRole;
  /** Its value is recorded as a tag. */
  readonly isTag: boolean;
  /** `forwarded`, or `dropped` whatever else holds. */
  readonly verdict: HeaderVerdict;
  /** Goes upstream even while forwarding is off: it describes the body or the response. */
  readonly always: boolean;
  /** May stand once only; of several the last counts, as it does where the proxy reads it. */
  readonly once: boolean;
  /** Never goes upstream in the name of a caller, whatever the prefixes say. */
  readonly barred: boolean;
  /** Position in the order in which credentials are looked for; lower wins. -1 for others. */
  readonly credentialRank: number;
}

/** Fields that RFC 9110 and W3C Trace Context define with one value, not a list; readers differ in which of two they take. */
const SINGLETONS: ReadonlySet<string> = new Set([
  'content-type',
  'content-length',
  'content-location',
  'content-range',
  'date',
  'expires',
  'from',
  'if-modified-since',
  'if-range',
  'if-unmodified-since',
  'last-modified',
  'location',
  'max-forwards',
  'origin',
  'referer',
  'retry-after',
  'traceparent',
  'user-agent',
]);

/** Roles in which the proxy takes one value. */
const SINGLE_ROLES: ReadonlySet<HeaderRole> = new Set([
  'session',
  'trace',
  'vendor-session',
  'spend-metadata',
  'call-id',
  'timeout',
  'stream-timeout',
  'end-user',
]);

const DESCRIBES: HeaderVerdict = { action: 'forwarded', rule: 'describes the body or the answer' };
const ALLOWED: HeaderVerdict = { action: 'forwarded', rule: 'general_settings.allow_headers' };
const NO_PREFIX: HeaderVerdict = { action: 'dropped', rule: 'matches no forwarded prefix' };

// Clients choose the names, and a client may send other ones with every request. 2,048 names of 60 KB are 115 MB, so
// only short ones are kept; a full cache starts anew, or invented names would keep the usual ones out for ever.
const CACHE_NAMES = 1024;
const CACHED_CHARS = 64;
/** A longer `x-<vendor>-session-id` is no vendor's; its name would stand in the row. */
const VENDOR_CHARS = 128;

interface RuleOptions {
  /** Their values are recorded as tags. */
  readonly tagHeaders?: readonly string[];
  /** The header that names the end user; null = only the dialect's do. */
  readonly userHeader?: string | null;
  /** The proxy reads and writes trace context. */
  readonly isTraced?: boolean;
  /** Told once for each name that is held back because it steers a gateway. */
  readonly onHeldBack?: ((rule: SteeringRule) => void) | undefined;
}

/** The rules of one snapshot's dialect and policy. */
export class HeaderRules {
  readonly #dialect: Dialect;
  readonly #prefixes: readonly string[];
  /** As configured, and as compared. */
  readonly #deny: readonly (readonly [written: string, plainName: string])[];
  readonly #tagHeaders: ReadonlySet<string>;
  readonly #userHeader: string | null;
  readonly #keyHeader: string | null;
  readonly #isTraced: boolean;
  readonly #steering: FindSteering;
  readonly #allowed: ReadonlySet<string>;
  readonly #onHeldBack: RuleOptions['onHeldBack'];
  readonly #cache = new Map<string, HeaderRule>();

  constructor(
    dialect: Dialect,
    settings: HeaderSettings,
    { tagHeaders = [], userHeader = null, isTraced = false, onHeldBack }: RuleOptions = {},
  ) {
    this.#dialect = dialect;
    this.#prefixes = settings.forwardPrefixes;
    this.#deny = settings.deny.map((written) => [written, dashed(written)]);
    this.#tagHeaders = new Set(tagHeaders.map((name) => name.toLowerCase()));
    this.#userHeader = userHeader;
    this.#keyHeader = settings.keyHeader ?? null;
    this.#isTraced = isTraced;
    this.#steering = steeringOf(dialect);
    this.#allowed = new Set(settings.allow);
    this.#onHeldBack = onHeldBack;
  }

  /** The rule for a name as it came over the wire (any case). */
  ruleOf(rawName: string): HeaderRule {
    const known = this.#cache.get(rawName);
    if (known !== undefined) return known;
    const made = this.#make(rawName.toLowerCase());
    if (rawName.length <= CACHED_CHARS) {
      if (this.#cache.size === CACHE_NAMES) this.#cache.clear();
      this.#cache.set(rawName, made);
    }
    return made;
  }

  #make(name: string): HeaderRule {
    const credentialRank = this.#credentialRank(name);
    const role = credentialRank >= 0 ? 'credential' : this.#roleOf(name);
    const barred = this.#barredBy(name);
    return {
      name,
      plainName: dashed(name),
      role,
      isTag: role !== 'credential' && this.#tagHeaders.has(name),
      verdict: barred === null ? this.#unbarred(name) : { action: 'dropped', rule: barred },
      always: name === 'content-type' || name === 'accept',
      once: SINGLETONS.has(name) || SINGLE_ROLES.has(role),
      barred: barred !== null,
      credentialRank,
    };
  }

  #unbarred(name: string): HeaderVerdict {
    if (name === 'content-type' || name === 'accept') return DESCRIBES;
    if (this.#allowed.has(name)) return ALLOWED;
    const prefix = this.#prefixes.find((one) => name.startsWith(one));
    return prefix === undefined ? NO_PREFIX : { action: 'forwarded', rule: `prefix ${prefix}` };
  }

  /** The rule that bars a name whatever the prefixes, or null. An underscore twin is barred like its original. */
  #barredBy(name: string): string | null {
    if (name === 'content-type') return null; // no upstream could read the body without it
    const plainName = dashed(name);
    if (this.#keyHeader !== null && plainName === dashed(this.#keyHeader))
      return 'a credential of the caller';
    const never = neverPassed(name, this.#dialect.headerPrefix);
    if (never !== null) return never;
    if (plainName === this.#dialect.sessionHeader && name !== plainName)
      return `underscore twin of the reserved ${plainName}`;
    if (plainName === this.#dialect.sessionHeader) return 'reserved: stamped by the proxy';
    if (plainName.startsWith(this.#dialect.sdkHeaderPrefix))
      return `SDK telemetry (${this.#dialect.sdkHeaderPrefix}*)`;
    const role = this.#roleOf(name);
    if (role === 'traceparent' || role === 'tracestate') return 'belongs to this hop: tracing is on';
    if (name !== plainName && (this.#roleOf(plainName) !== 'none' || this.#tagHeaders.has(plainName)))
      return `underscore twin of ${plainName}`;
    const denied = this.#deny.find(([, one]) =>
      one.endsWith('*') ? plainName.startsWith(one.slice(0, -1)) : plainName === one,
    );
    if (denied !== undefined) return `general_settings.deny_headers: ${denied[0]}`;
    const steering = this.#allowed.has(name) ? null : this.#steering(plainName);
    if (steering === null) return null;
    if (role === 'none') this.#onHeldBack?.(steering); // others have their effect here
    return `steers ${steering.kind} (${steering.pattern}); general_settings.allow_headers may name it`;
  }

  #credentialRank(name: string): number {
    if (name === this.#keyHeader) return 0;
    const first = this.#keyHeader === null ? 0 : 1;
    if (name === `${this.#dialect.headerPrefix}api-key`) return first;
    if (name === SUBPROTOCOL_HEADER) return first + KEY_HEADERS.length + 1;
    const at = KEY_HEADERS.indexOf(name);
    return at < 0 ? -1 : at + first + 1;
  }

  #roleOf(name: string): HeaderRole {
    switch (name) {
      case 'host':
      case 'content-type':
      case 'content-length':
      case 'content-encoding':
      case 'transfer-encoding':
      case 'connection':
      case 'accept':
      case 'user-agent':
        return name;
      default:
    }
    if (name.startsWith(this.#dialect.headerPrefix)) {
      switch (name.slice(this.#dialect.headerPrefix.length)) {
        case 'session-id':
          return 'session';
        case 'trace-id':
          return 'trace';
        case 'tags':
          return 'tags';
        case 'spend-logs-metadata':
          return 'spend-metadata';
        case 'call-id':
          return 'call-id';
        case 'timeout':
          return 'timeout';
        case 'stream-timeout':
          return 'stream-timeout';
        case 'customer-id':
        case 'end-user-id':
          return 'end-user';
        default:
      }
    }
    if (this.#isTraced && (name === 'traceparent' || name === 'tracestate')) return name;
    if (name === this.#userHeader) return 'end-user';
    return name.length <= VENDOR_CHARS && /^(?:(?:x-(?:.+-)?)?session-id|session_id)$/.test(name)
      ? 'vendor-session'
      : 'none';
  }
}
