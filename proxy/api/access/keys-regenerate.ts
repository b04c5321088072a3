// `POST /key/{key}/regenerate`, `/key/regenerate`: another value for the same key. Alias, settings and spend stay; the old value
// is refused at once, with all values before it, or after `grace_period`.
import { endOf } from '../../access/durations.ts';
import { demand } from '../../access/may.ts';
import { lastingId } from '../../access/budgets/scopes.ts';
import type { ObjectChange, VirtualKey } from '../../access/objects/objects.ts';
import { readObject } from '../json-body.ts';
import { duration, readFields, text, isSet } from './fields.ts';
import { KEY_FIELDS, keyFrom } from './keys-fields.ts';
import { changedKey } from './keys-change.ts';
import { aliasName, checkChosen, generatedRow, refuseTakenValue } from './keys-generate.ts';
import { checkBounds } from './keys-policy.ts';
import { digestOf, displayName, keyNamed, newKeyValue } from './keys-value.ts';
import { unknownKey } from './keys-read.ts';
import { missingField } from './refusals.ts';
import type { Row } from './rows.ts';
import { spentUsd } from './spent.ts';
import { authorOf, directoryOf, nowOf, remove, store, type Call } from './management-call.ts';
import { withSpend } from './terms.ts';
import { UNENFORCED_OF_REGENERATION } from './unenforced.ts';

export const REGENERATE_FIELDS = {
  ...KEY_FIELDS,
  ...UNENFORCED_OF_REGENERATION,
  key: text,
  new_key: text,
  grace_period: duration,
};
/** Either name of the call. */
const PERMISSIONS = ['/key/regenerate', '/key/{key_id}/regenerate'] as const;
/** Former values that are remembered, the first among them (`lastingId`): rows of them count as the key's. */
const MOST_FORMER = 20;
/** Of a former value that is accepted no more; 0 would be no former value at all (`keyOfCredential`). */
const ENDED_MS = 1;

export async function regenerateKey(call: Call): Promise<Row> {
  const fields = readFields(await readObject(call.x), REGENERATE_FIELDS);
  const named = call.param === '' ? (fields.key ?? '') : call.param;
  if (named === '') throw missingField(['body', 'key']);
  const value = fields.new_key ?? newKeyValue();
  if (isSet(fields.new_key)) checkChosen(call, value);
  const known = keyNamed(named, directoryOf(call), nowOf(call));
  const [spend = 0] = known === null ? [] : await spentUsd(call.x, [{ kind: 'key', id: known.id }]);
  const change = (): Promise<VirtualKey> =>
    store(call, (directory) => {
      const author = authorOf(call);
      const before = keyNamed(named, directory, author.nowMs);
      if (before === null) throw unknownKey();
      const changed = keyFrom(fields, before, directory, author);
      checkBounds(fields, changed, call.x.active.snapshot.keyGeneration);
      changedKey(call, before, changed, directory, PERMISSIONS); // who may, and whether it can be
      demand(call.caller, directory, 'key.create', changed); // and may know its value
      const after = withValue(changed, value, endOf(fields.grace_period ?? null, author.nowMs) ?? ENDED_MS);
      refuseTakenValue(after, directory, 'new_key');
      // Of a value that is forgotten no row would count any more.
      const isForgetting = !isSet(fields.spend) && before.former.length >= MOST_FORMER;
      const budget = isForgetting ? withSpend(after.budget, spend, author.nowMs) : after.budget;
      const renewed: VirtualKey = { ...after, budget };
      call.concerns({ kind: 'key', id: before.id, before, after: renewed });
      const changes: ObjectChange[] = [remove(before), { put: renewed }];
      return { changes, result: renewed };
    });
  // A store removes whatever there is: two calls at once would make two keys of one.
  const key = await call.exclusive.run(known === null ? null : `key/${lastingId(known)}`, () =>
    call.exclusive.run(aliasName(fields), change),
  );
  return generatedRow(call, key, value, { ...fields, spend: fields.spend ?? spend });
}

/**
 * The key under another hash: a new object, which knows its former ones.
 * @param untilMs until when the old value is accepted; `ENDED_MS` ends all former ones
 */
function withValue(key: VirtualKey, value: string, untilMs: number): VirtualKey {
  // Who gives no grace has lost a value, and may not know which one.
  const earlier = untilMs > ENDED_MS ? key.former : key.former.map(({ id }) => ({ id, untilMs: ENDED_MS }));
  const [first, ...later] = [...earlier, { id: key.id, untilMs }];
  const former = [...(first === undefined ? [] : [first]), ...later.slice(1 - MOST_FORMER)];
  return { ...key, id: digestOf(value), name: displayName(value), former, revision: 0 };
}
