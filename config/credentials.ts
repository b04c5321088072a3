// Merges named credentials (`credential_list`) into the model_list entries that refer to them. This happens before
// validation, so that an issue about a credential's value points at the credential. An entry's own values win.
import type { Diagnostics } from './diagnostics.ts';
import { nearest } from './nearest.ts';
import { below, isInert, SCHEMA } from './schema.ts';
import { memberOf, withMember, type Member, type Tree } from './tree.ts';

const PARAMS = SCHEMA.properties?.['model_list']?.items?.properties?.['litellm_params'];
const VALUES = SCHEMA.properties?.['credential_list']?.items?.properties?.['credential_values'];

interface Credential {
  readonly index: number;
  readonly members: ReadonlyMap<string, Member>;
}

/** The tree with every `litellm_credential_name` resolved. */
export function withCredentials(root: Tree, diagnostics: Diagnostics): Tree {
  const list = memberOf(root, 'model_list');
  if (root.kind !== 'map' || list?.kind !== 'list') return root;
  const credentials = credentialsOf(memberOf(root, 'credential_list'), diagnostics);
  let changed = false;
  const items = list.items.map((entry, index) => {
    const params = memberOf(entry, 'litellm_params');
    const name = memberOf(params, 'litellm_credential_name');
    if (
      entry.kind !== 'map' ||
      params?.kind !== 'map' ||
      name?.kind !== 'scalar' ||
      typeof name.value !== 'string'
    )
      return entry;
    const credential = credentials.get(name.value);
    if (credential === undefined) {
      const near = nearest(name.value, credentials.keys());
      const fix = near === null ? 'add it to credential_list' : `did you mean ${near}?`;
      diagnostics.error(
        ['model_list', index, 'litellm_params', 'litellm_credential_name'],
        'no credential has this name',
        fix,
      );
      return entry;
    }
    if (!diagnostics.isSound(['credential_list', credential.index]))
      diagnostics.markBroken(['model_list', index]);
    changed = true;
    const own = [...params.members].filter(([key, member]) => !isLeftOut(key, member));
    const members = new Map([...credential.members, ...own]);
    return withMember(entry, 'litellm_params', { ...params, members });
  });
  return changed ? withMember(root, 'model_list', { ...list, items }) : root;
}

/** A key without a value is none that wins; where it must not be empty, it stays and validation says so. */
function isLeftOut(key: string, { tree }: Member): boolean {
  return tree.kind === 'scalar' && tree.value === null && below(PARAMS, key)?.['x-guards'] !== true;
}

function credentialsOf(list: Tree | undefined, diagnostics: Diagnostics): ReadonlyMap<string, Credential> {
  const found = new Map<string, Credential>();
  if (list?.kind !== 'list') return found;
  list.items.forEach((item, index) => {
    const name = memberOf(item, 'credential_name');
    const values = memberOf(item, 'credential_values');
    if (name?.kind !== 'scalar' || typeof name.value !== 'string' || values?.kind !== 'map') return;
    if (found.has(name.value))
      diagnostics.error(
        ['credential_list', index, 'credential_name'],
        'another credential has this name',
        'keep one of the two',
      );
    const members = [...values.members].filter(([key]) => {
      const schema = below(VALUES, key);
      return schema !== undefined && !isInert(schema);
    });
    found.set(name.value, { index, members: new Map(members) });
  });
  return found;
}
