// The audit lines of admin calls: who changed what, from where, before and after. One log line (`event: "admin_change"`)
// for each attempt, refused ones included, whatever the log level (but `silent`). Values are shown by allowlist: what the
// schema knows and does not call a secret.
import { hash } from 'node:crypto';
import { ENV_MARKER } from '../../config/dialect.ts';
import { below, isInert, SCHEMA, type SchemaNode } from '../../config/schema.ts';
import type { ObjectKind } from '../access/objects/objects.ts';
import type { Fault } from '../errors/fault.ts';
import type { Exchange } from '../pipeline/exchange.ts';
import {
  HASH_DIGITS,
  MOST_CHARS,
  MOST_ITEMS,
  objectName,
  objectViews,
  TEXT_CHARS,
} from './access/audit-view.ts';
import type { ConcernedObject } from './access/management-call.ts';

type ModelAction = 'model_new' | 'model_update' | 'model_delete';
/** What is done to an object: `key_generate`, `team_member_add`, ... */
export type ObjectAction = `${ObjectKind}_${string}`;
type CapsuleAction = 'capsule_order' | 'capsule_read' | 'capsule_delete';
type AlertAction = 'alert_acknowledge' | 'alert_reopen';
export type AdminAction =
  ModelAction | ObjectAction | CapsuleAction | AlertAction | 'brake_resume' | 'config_reload';

/** A `model_list` entry before and after a change; null = there is none. */
interface ChangedModel {
  /** null = it is not known. */
  readonly id: string | null;
  readonly before: unknown;
  readonly after: unknown;
}

const MODEL = SCHEMA.properties?.['model_list']?.items;
const REFERENCE = new RegExp(`^${ENV_MARKER.replaceAll('.', String.raw`\.`)}\\w{1,100}$`);
const URLS: ReadonlySet<string> = new Set(['api_base', 'base_url']);
const SECRET = '[secret]';
const HIDDEN = '[not shown]';
const WHY_CHARS = 600;

/** One admin call, from its authentication to its end. */
export class AdminAttempt {
  readonly #x: Exchange;
  readonly #action: AdminAction;
  /** SHA-256 hex; '' = no key is configured; null = the caller has no valid one. */
  #keyHash: string | null;
  #model: ChangedModel | null = null;
  /** By kind and id: the last word of a call about each. */
  readonly #objects = new Map<string, ConcernedObject>();
  #details: Readonly<Record<string, unknown>> = {};

  constructor(x: Exchange, action: AdminAction, keyHash: string | null) {
    this.#x = x;
    this.#action = action;
    this.#keyHash = keyHash;
  }

  /** SHA-256 of the caller's key; '' = none is configured. */
  get by(): string {
    return this.#keyHash ?? '';
  }

  /** What the call is about, as soon as it is known. */
  concerns(model: ChangedModel): void {
    this.#model = model;
  }

  /** The same for a key, team, user, ...; a call may be about several. */
  concernsObject(object: ConcernedObject): void {
    this.#objects.set(`${object.kind}/${object.id}`, object);
  }

  /** Further members of the line. */
  details(more: Readonly<Record<string, unknown>>): void {
    this.#details = more;
  }

  applied(persisted: boolean): void {
    this.#write('applied', { persisted });
  }

  /** Asked for in order, and nothing has changed: `why` in a word. */
  changedNothing(why: 'dry_run' | 'refused' | 'unchanged'): void {
    this.#write(why === 'refused' ? 'refused' : 'unchanged', { persisted: false });
  }

  refused(fault: Fault): void {
    if (fault.code === 'admin_key_required') this.#keyHash = hashOfCredential(this.#x); // a key, but not of an admin
    this.#write(fault.status < 500 ? 'refused' : 'failed', {
      error: fault.code,
      why: fault.message.slice(0, WHY_CHARS),
    });
  }

  #write(outcome: 'applied' | 'unchanged' | 'refused' | 'failed', more: object): void {
    const { log } = this.#x.active.services;
    if (log.level === 'silent') return;
    const call = {
      action: this.#action,
      outcome,
      call_id: this.#x.id,
      key: keyText(this.#keyHash, this.#x),
      address: this.#x.clientAddress,
      ...this.#details,
    };
    // A logger of its own: --log-level warn keeps request lines out of the log, not changes.
    const audit = log.child({ event: 'admin_change' }, { level: 'info' });
    for (const subject of this.#subjects())
      audit[outcome === 'applied' || outcome === 'unchanged' ? 'info' : 'warn'](
        { ...call, ...subject, ...more },
        'admin change',
      );
  }

  #subjects(): readonly object[] {
    if (this.#objects.size > 0)
      return [...this.#objects.values()].map((object) => ({
        object: object.kind,
        object_id: objectName(object).slice(0, TEXT_CHARS),
        ...objectViews(object),
      }));
    if (!this.#action.startsWith('model_'))
      return [{ object: null, object_id: null, before: null, after: null }];
    return [
      {
        model_id: this.#model?.id?.slice(0, TEXT_CHARS) ?? null,
        before: viewOf(this.#model?.before),
        after: viewOf(this.#model?.after),
      },
    ];
  }
}

function hashOfCredential({ headers: { credential } }: Exchange): string | null {
  return credential === null ? null : hash('sha256', credential, 'hex');
}

function keyText(keyHash: string | null, x: Exchange): string {
  if (keyHash === null) return x.headers.credential === null ? 'none' : 'unknown';
  if (keyHash === '') return 'not required';
  return /^[0-9a-f]{64}$/.test(keyHash) ? keyHash.slice(0, HASH_DIGITS) : keyHash; // or the master key's name
}

function viewOf(entry: unknown): unknown {
  if (entry === null || entry === undefined) return null;
  const view = shown(entry, MODEL, '');
  return JSON.stringify(view).length <= MOST_CHARS ? view : shortened(view);
}

/** Without what is not shown anyway, and of each part only what says where calls go. */
function shortened(view: unknown): object {
  const short = Object.entries(membersOf(view))
    .filter(([, value]) => value !== HIDDEN)
    .map(([name, value]) => [name, typeof value === 'object' ? placesIn(value) : value]);
  return { ...(Object.fromEntries(short) as object), shortened: true };
}

function placesIn(part: unknown): object {
  const { model, api_base, base_url } = membersOf(part);
  return { model, api_base, base_url };
}

const membersOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};

/** A value of the configuration without what is secret; what the schema does not know is not shown. @param key its name */
export function shown(value: unknown, schema: SchemaNode | undefined, key: string): unknown {
  if (typeof value === 'string' && REFERENCE.test(value)) return value; // a name, not the secret
  if (schema === undefined || isInert(schema)) return HIDDEN;
  if (schema['x-secret'] === true) return withoutValues(value);
  if (typeof value === 'string') return URLS.has(key) ? shownUrl(value) : value.slice(0, TEXT_CHARS);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.slice(0, MOST_ITEMS).map((item) => shown(item, schema.items, key));
  return membersShown(value, (inner, name) => shown(inner, below(schema, name), name));
}

/** A secret, a list or a mapping of them, such as headers. */
function withoutValues(value: unknown): unknown {
  const secret = (one: unknown): string => (typeof one === 'string' && REFERENCE.test(one) ? one : SECRET);
  if (Array.isArray(value)) return value.slice(0, MOST_ITEMS).map(secret);
  return typeof value === 'object' && value !== null ? membersShown(value, secret) : secret(value);
}

function membersShown(value: object, show: (inner: unknown, name: string) => unknown): object {
  const members = Object.entries(value).slice(0, MOST_ITEMS);
  return Object.fromEntries(members.map(([name, inner]) => [name.slice(0, TEXT_CHARS), show(inner, name)]));
}

/** Without user, password and query, which may be secrets. */
function shownUrl(text: string): string {
  const url = URL.parse(text);
  return url === null ? HIDDEN : `${url.protocol}//${url.host}${url.pathname}`.slice(0, TEXT_CHARS);
}
