// What model listings show of an entry: its parameters and facts without secrets. Secrets are recognised by name, because
// keys without effect are not interpreted and may contain another vendor's credentials.
import type { Member, Tree } from '../tree.ts';

const MASK = '[secret]';

/** `api_key`, `client_secret`, `vertex_credentials`, `aws_access_key_id`, `azure_ad_token`, ... */
const SECRET_NAME =
  /(^|[_-])(key|key_id|keys|secret|secrets|password|passwd|credential|credentials|auth|authorization|bearer|cookie)$/i;

/** Ends in `token` and is not a price. */
function isTokenName(name: string): boolean {
  return /(^|[_-])token$/i.test(name) && !/per[_-]|cost/i.test(name);
}

function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name) || isTokenName(name);
}

/** A plain copy of a tree with secrets masked; `drop` names top-level members to leave out. */
export function publicOf(tree: Tree | undefined, drop: readonly string[] = []): Record<string, unknown> {
  const plain: Record<string, unknown> = {};
  if (tree?.kind !== 'map') return plain;
  for (const [key, member] of tree.members) {
    if (drop.includes(key) || key === '__proto__') continue;
    if (member.tree.kind === 'scalar' && member.tree.value === null) continue;
    plain[key] = masked(key, member.tree);
  }
  return plain;
}

function masked(key: string, tree: Tree): unknown {
  if (isSecretName(key)) return MASK;
  if (tree.kind === 'list') return tree.items.map((item) => masked('', item));
  if (tree.kind === 'scalar') return tree.value;
  if (key === 'extra_body') return publicOf(withoutReferences(tree));
  // Header values are secrets whatever the header's name.
  if (key === 'extra_headers' || key === 'headers')
    return Object.fromEntries([...tree.members.keys()].map((name) => [name, MASK]));
  return publicOf(tree);
}

/** What stands in a variable of the environment or in a file is secret whatever its name. */
function withoutReferences<T extends Tree>(tree: T): T {
  if (tree.kind === 'scalar') return tree.reference === null ? tree : { ...tree, value: MASK };
  if (tree.kind === 'list') return { ...tree, items: tree.items.map(withoutReferences) };
  const members = [...tree.members].map(([key, member]): [string, Member] => [
    key,
    { ...member, tree: withoutReferences(member.tree) },
  ]);
  return { ...tree, members: new Map(members) };
}
