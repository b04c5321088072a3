// What each request header name means to the proxy: its role, whether it may go upstream, and the rule that says so.
// Pure; one class per name, cached, because a request brings a dozen names and they repeat all day.
import type { Dialect } from '../../config/dialect.ts';
import type { HeaderSettings } from '../../config/snapshot.ts';

/** What the proxy does with a header itself; `none` = nothing. */
export type HeaderRole =
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
  | 'end-user'
  | 'traceparent'
  | 'tracestate'
  | 'tag-header';

export interface HeaderClass {
  /** Lower-case name. */
  readonly name: string;
  readonly role: HeaderRole;
  /** May go upstream when forwarding is on. */
  readonly forward: boolean;
  /** Never goes upstream in the name of a caller, whatever the prefixes say. */
  readonly barred: boolean;
  /** The rule, as `explain` prints it. */
  readonly rule: string;
  /** Position in the order in which credentials are looked for; lower wins. -1 for others. */
  readonly credentialRank: number;
}

/** RFC 9110 section 7.6.1 and the names that RFC 2616 listed; `keep-alive` and `proxy-connection` are still met. */
export const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'trailers',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
]);

const FRAMING: ReadonlySet<string> = new Set(['host', 'content-length', 'expect', 'accept-encoding']);

/** Where a caller's key may stand, in the dialect's order. `x-<brand>-api-key` comes before all. */
const CREDENTIALS = ['authorization', 'api-key', 'x-api-key', 'x-goog-api-key', 'ocp-apim-subscription-key'];

/** Other people's credentials that agents and browsers carry along; never an upstream's business. */
const FOREIGN_CREDENTIALS: ReadonlySet<string> = new Set([
  'cookie',
  'cookie2',
  'set-cookie',
  'x-session-api-key',
  'x-access-token',
  'x-mcp-auth',
]);

const CACHE_LIMIT = 2048; // names are the client's to choose; the cache is not

/** Classifies header names under one snapshot's dialect and policy. */
export class HeaderRules {
  readonly #dialect: Dialect;
  readonly #settings: HeaderSettings;
  readonly #tagHeaders: ReadonlySet<string>;
  readonly #userHeader: string | null;
  readonly #traced: boolean;
  readonly #cache = new Map<string, HeaderClass>();

  constructor(
    dialect: Dialect,
    settings: HeaderSettings,
    tagHeaders: readonly string[] = [],
    userHeader: string | null = null,
    traced = false,
  ) {
    this.#dialect = dialect;
    this.#settings = settings;
    this.#tagHeaders = new Set(tagHeaders.map((name) => name.toLowerCase()));
    this.#userHeader = userHeader;
    this.#traced = traced;
  }

  /** The class of a name as it came over the wire (any case). */
  classOf(rawName: string): HeaderClass {
    const known = this.#cache.get(rawName);
    if (known !== undefined) return known;
    const made = this.#classify(rawName.toLowerCase());
    if (this.#cache.size < CACHE_LIMIT) this.#cache.set(rawName, made);
    return made;
  }

  #classify(name: string): HeaderClass {
    const role = this.#roleOf(name);
    const rank = this.#credentialRank(name);
    const barred = this.#barredBy(name);
    const make = (forward: boolean, rule: string): HeaderClass => ({
      name,
      role: rank >= 0 ? 'credential' : role,
      forward,
      barred: barred !== null,
      rule,
      credentialRank: rank,
    });
    if (barred !== null) return make(false, barred);
    const prefix = this.#settings.forwardPrefixes.find((p) => name.startsWith(p));
    return prefix === undefined ? make(false, 'matches no forwarded prefix') : make(true, `prefix ${prefix}`);
  }

  /** The rule that bars a name whatever the settings, or null. An underscore twin is barred like its original. */
  #barredBy(name: string): string | null {
    const twin = name.replaceAll('_', '-');
    if (HOP_BY_HOP.has(twin)) return 'hop-by-hop';
    if (FRAMING.has(twin)) return 'belongs to this hop';
    if (this.#credentialRank(twin) >= 0 || FOREIGN_CREDENTIALS.has(twin)) return 'a credential of the caller';
    if (twin === this.#dialect.sessionHeader) {
      return name === twin ? 'reserved: stamped by the proxy' : `underscore twin of the reserved ${twin}`;
    }
    if (twin.startsWith(this.#dialect.sdkHeaderPrefix))
      return `SDK telemetry (${this.#dialect.sdkHeaderPrefix}*)`;
    const role = this.#roleOf(name);
    if (role === 'traceparent' || role === 'tracestate') return 'belongs to this hop: tracing is on';
    if (name !== twin && this.#roleOf(twin) !== 'none') return `underscore twin of ${twin}`;
    const denied = this.#settings.deny.find((d) =>
      d.endsWith('*') ? twin.startsWith(d.slice(0, -1)) : twin === d,
    );
    return denied === undefined ? null : `general_settings.deny_headers: ${denied}`;
  }

  #credentialRank(name: string): number {
    if (name === `${this.#dialect.headerPrefix}api-key`) return 0;
    const at = CREDENTIALS.indexOf(name);
    return at < 0 ? -1 : at + 1;
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
        case 'customer-id':
        case 'end-user-id':
          return 'end-user';
        default:
      }
    }
    if (this.#traced && (name === 'traceparent' || name === 'tracestate')) return name;
    if (name === this.#userHeader) return 'end-user';
    if (this.#tagHeaders.has(name)) return 'tag-header';
    if (/^x-.+-session-id$/.test(name)) return 'vendor-session';
    return 'none';
  }
}
