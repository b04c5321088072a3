// Recordings of calls, for administrators: `POST /capsules` records those of a key or a conversation for a time, `GET /capsules` lists
// what is recorded and the files, `GET /capsules/{id}` gives one file, `DELETE /capsules/{id}` ends a recording or removes a file.
import { hash, randomBytes } from 'node:crypto';
import { errorCode } from '../../config/error-code.ts';
import { keyOf } from '../access/permissions.ts';
import type { Capsules } from '../capsule/capsules.ts';
import type { CapsuleRule } from '../capsule/rules.ts';
import { Fault } from '../errors/fault.ts';
import type { Exchange } from '../pipeline/exchange.ts';
import { isSessionId } from '../pipeline/identity.ts';
import { sendBytes, sendJson } from '../pipeline/respond.ts';
import type { AdminAttempt } from './audit.ts';
import { readChange } from './json-body.ts';

const MEMBERS = ['key', 'session_id', 'minutes', 'bodies'];
/** What the ids of orders begin with; those of files are call ids. */
const ORDER = 'order-';
const USUAL_MINUTES = 15;
const MOST_MINUTES = 1_440;
/** At once. */
const MOST_ORDERS = 100;
const MINUTE_MS = 60_000;
const SHA_256 = /^[0-9a-f]{64}$/;
const MOST_LISTED = 1_000;

/** `POST /capsules` with `{key | session_id, minutes?, bodies?}`. */
export async function orderCapsules(x: Exchange, attempt: AdminAttempt): Promise<void> {
  const body = await readChange(x);
  const capsules = theCapsules(x);
  const other = Object.keys(body).find((name) => !MEMBERS.includes(name));
  if (other !== undefined) throw invalid(other, `is not known; the members are ${MEMBERS.join(', ')}`);
  const { key, session_id: session, minutes = USUAL_MINUTES, bodies = false } = body;
  if ((key === undefined) === (session === undefined))
    throw invalid('key', 'or `session_id` is needed, and not both: it says which calls are recorded');
  if (typeof minutes !== 'number' || !(minutes > 0) || minutes > MOST_MINUTES)
    throw invalid('minutes', `must be a number above 0, up to ${MOST_MINUTES}`);
  if (typeof bodies !== 'boolean') throw invalid('bodies', 'must be true or false');
  if (bodies && capsules.settings?.keepsBodies !== true)
    throw invalid('bodies', 'is not allowed: general_settings.capsules.keep_bodies is not true');
  if (session !== undefined && (typeof session !== 'string' || !isSessionId(session)))
    throw invalid('session_id', 'must be 1 to 256 printable ASCII characters');
  const nowMs = x.active.services.clock.now();
  const rule: CapsuleRule = {
    id: `${ORDER}${randomBytes(6).toString('hex')}`,
    keyHash: key === undefined ? null : keyHashOf(x, key),
    sessionId: session ?? null,
    bodies,
    createdMs: nowMs,
    untilMs: nowMs + Math.round(minutes * MINUTE_MS),
    createdBy: attempt.by,
  };
  attempt.details({ order: rule.id, key_hash: rule.keyHash, session: rule.sessionId, minutes, bodies });
  await writable(capsules);
  if ((await stored(capsules.orders())).length >= MOST_ORDERS)
    throw invalid('key', `: ${MOST_ORDERS} recordings are under way already; end one of them first`);
  await stored(capsules.add(rule));
  attempt.applied(true);
  sendJson(x, shownOrder(rule));
}

/** `GET /capsules`. The files are those of this server. */
export async function listCapsules(x: Exchange): Promise<void> {
  const capsules = theCapsules(x);
  const [orders, files] = [await stored(capsules.orders()), await readable(capsules.directory.list())];
  sendJson(x, {
    orders: orders.map(shownOrder),
    capsules: files.slice(0, MOST_LISTED).map(({ id, bytes, writtenMs }) => ({
      id,
      bytes,
      written_at: isoTime(writtenMs),
    })),
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    dropped: capsules.figures.dropped,
  });
}

/** `GET /capsules/{id}`: the file as it is. */
export async function oneCapsule(x: Exchange, attempt: AdminAttempt, id: string): Promise<void> {
  attempt.details({ capsule: id.slice(0, 100) });
  const file = await readable(theCapsules(x).directory.read(id));
  if (file === null) throw unknown(id);
  attempt.applied(false);
  sendBytes(x, 'application/jsonl', file);
}

/** `DELETE /capsules/{id}`: the id of a recording or of a file. */
export async function deleteCapsule(x: Exchange, attempt: AdminAttempt, id: string): Promise<void> {
  attempt.details({ capsule: id.slice(0, 100) });
  const capsules = theCapsules(x);
  const isDone = id.startsWith(ORDER)
    ? await stored(capsules.stop(id))
    : await readable(capsules.directory.remove(id));
  if (!isDone) throw unknown(id);
  attempt.applied(true);
  sendJson(x, { id, deleted: true });
}

function theCapsules({ active }: Exchange): Capsules {
  const { capsules } = active.services;
  if (capsules !== null && capsules.settings !== null) return capsules;
  throw new Fault(
    'capsules_off',
    'Nothing can be recorded: the configuration has no general_settings.capsules.',
  );
}

/** The SHA-256 under which calls of a key are known. */
function keyHashOf({ active }: Exchange, key: unknown): string {
  if (typeof key !== 'string' || key === '') throw invalid('key', 'must be a key, its SHA-256 or its alias');
  const { snapshot, services } = active;
  const { directory } = services.access;
  const digest = SHA_256.test(key) ? Buffer.from(key, 'hex') : hash('sha256', key, 'buffer');
  const sha256 = digest.toString('hex');
  const configured = keyOf(snapshot, digest) ?? hashed(snapshot.masterKey?.sha256() ?? '', sha256);
  if (configured !== null) {
    const isHidden = configured.role === 'admin' && snapshot.access.hidesMasterKey;
    return isHidden ? `${snapshot.dialect.brand}_proxy_master_key` : sha256;
  }
  const named = snapshot.access.inferenceKeys.find((one) => one.name === key || one.key.sha256() === sha256);
  if (named !== undefined) return named.key.sha256();
  const found = directory.key(sha256) ?? [...directory.all('key')].find(({ alias }) => alias === key);
  if (found !== undefined) return found.id;
  throw invalid('key', 'is not known: give a key of this proxy, its SHA-256 or its alias');
}

const hashed = (masterKey: string, sha256: string): { readonly role: 'admin' } | null =>
  masterKey === sha256 ? { role: 'admin' } : null;

const isoTime = (ms: number): string => new Date(ms).toISOString();

const shownOrder = ({
  id,
  keyHash,
  sessionId,
  bodies,
  createdMs,
  untilMs,
  createdBy,
}: CapsuleRule): object => ({
  id,
  key_hash: keyHash,
  session_id: sessionId,
  bodies,
  created_at: isoTime(createdMs),
  until: isoTime(untilMs),
  created_by: createdBy,
});

const invalid = (param: string, why: string): Fault =>
  new Fault('invalid_parameter', `\`${param.slice(0, 50)}\` ${why}.`, { param: param.slice(0, 50) });

const unknown = (id: string): Fault =>
  new Fault('capsule_not_found', `There is no recording and no capsule ${JSON.stringify(id.slice(0, 100))}.`);

/** @throws Fault capsules_unwritable */
async function writable({ directory }: Capsules): Promise<void> {
  await readable(directory.prepare());
}

async function readable<T>(files: Promise<T>): Promise<T> {
  try {
    return await files;
  } catch (cause) {
    const code = errorCode(cause);
    const text = `The folder of capsules (general_settings.capsules.directory) cannot be used: ${code ?? 'it failed'}.`;
    throw new Fault('capsules_unwritable', text, { cause });
  }
}

async function stored<T>(change: Promise<T>): Promise<T> {
  try {
    return await change;
  } catch (cause) {
    throw new Fault('store_unavailable', 'The store of the proxy does not answer; nothing was changed.', {
      cause,
      headers: [['retry-after', '1']],
    });
  }
}
