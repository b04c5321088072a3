// Reading keys: `GET /key/info`, `POST /v2/key/info`, `POST /key/health`. The hash and the last four characters are all that is
// known of a value; what a caller sends of it goes back to the caller and to no log.
import { demand, whyNot } from '../../access/may.ts';
import type { VirtualKey } from '../../access/objects/objects.ts';
import { readObject } from '../json-body.ts';
import { readFields, texts, isSet } from './fields.ts';
import { keyNamed } from './keys-value.ts';
import { parameter } from './query.ts';
import { missingField, notFound, type Refusal } from './refusals.ts';
import { keyRow, keyRowWithoutToken, type Row } from './rows.ts';
import { spentUsd, usageMembers } from './spent.ts';
import { directoryOf, nowOf, rowContextOf, type Call } from './management-call.ts';

/** `GET /key/info?key=`: by value or SHA-256; without it, the caller's own. */
export async function keyInfo(call: Call): Promise<Row> {
  const named = parameter(call.query, 'key') ?? '';
  const directory = directoryOf(call);
  const key = named === '' ? ownKey(call) : keyNamed(named, directory, nowOf(call));
  if (key === null) throw unknownKey();
  demand(call.caller, directory, 'key.read', key);
  const [spend = 0] = await spentUsd(call.x, [{ kind: 'key', id: key.id }]);
  return {
    key: named === '' ? key.id : named,
    info: {
      ...keyRowWithoutToken(key, spend, rowContextOf(call)),
      status: statusOf(key, nowOf(call)),
      ...(await usageMembers(call.x, { kind: 'key', id: key.id })),
    },
  };
}

export const unknownKey = (): Refusal => notFound('Key not found in database', { param: 'key' });

function ownKey({ caller, x }: Call): VirtualKey | null {
  return caller.role === 'key' ? x.active.services.access.directory.key(caller.key.id) : null;
}

type KeyStatus = 'active' | 'expired' | 'revoked';

export function statusOf({ blocked, expiresMs }: VirtualKey, nowMs: number): KeyStatus {
  if (blocked) return 'revoked';
  return expiresMs !== null && expiresMs <= nowMs ? 'expired' : 'active';
}

export const NAMES = { keys: texts, key_aliases: texts };

/** `POST /v2/key/info`: several keys; those that are not there, or not the caller's to see, are left out. */
export async function keysInfo(call: Call): Promise<Row> {
  const { keys, key_aliases: aliases } = readFields(await readObject(call.x), NAMES);
  if (!isSet(keys) && !isSet(aliases)) throw noNames();
  const directory = directoryOf(call);
  const named = (keys ?? []).map((text) => keyNamed(text, directory, nowOf(call)));
  const aliased = (aliases ?? []).map((alias) => directory.keyByAlias(alias));
  const seen = new Set([...named, ...aliased].filter((key) => key !== null));
  const visible = [...seen].filter((key) => whyNot(call.caller, directory, 'key.read', key) === null);
  return { key: keys ?? aliases, info: await keyRows(call, visible) };
}

/** 422: neither keys nor aliases. */
export const noNames = (): Refusal => missingField(['body', 'keys'], 'keys or key_aliases must be provided');

/** Whole rows, each with what the key has spent. */
export async function keyRows(call: Call, keys: readonly VirtualKey[]): Promise<Row[]> {
  const context = rowContextOf(call);
  const spent = await spentUsd(
    call.x,
    keys.map(({ id }) => ({ kind: 'key', id })),
  );
  return keys.map((key, index) => keyRow(key, spent[index] ?? 0, context));
}

/** `POST /key/health`: whether the caller's key is in order; whoever gets here has one that is. */
export const keyHealth = (): Row => ({ key: 'healthy', logging_callbacks: null });
