// Which members of a settings document are secrets, and what of them may be shown. A mask that comes back stands for
// the value that is stored, so that a client which reads, changes and writes loses nothing.

/** What stands in place of a secret. */
export const MASK = '**********';

const KEYS: ReadonlySet<string> = new Set([
  'api_key',
  'llm_api_key',
  'search_api_key',
  'sandbox_api_key',
  'aws_access_key_id',
  'aws_secret_access_key',
  'aws_session_token',
]);
/** Of these the mask is shown, not null: a null that comes back unsets a member. */
const MASKED: ReadonlySet<string> = new Set([
  'critic_api_key',
  'client_secret',
  'access_token',
  'refresh_token',
  'id_token',
]);
/** Secret texts of a credential, which is known by one of its members. */
const OF_CREDENTIALS: ReadonlySet<string> = new Set(['value', 'password']);
/** Maps of which every text is a secret. */
const MAPS: ReadonlySet<string> = new Set(['env', 'provider_tokens', 'custom_secrets', 'secrets']);
const HEADERS: ReadonlySet<string> = new Set(['extra_headers', 'headers']);
const SECRET_HEADER = /auth|key|token|secret|password|cookie|credential|signature/i;

type Tree = Readonly<Record<string, unknown>>;

/** A copy to be shown: keys become null, other secrets the mask. */
export function shown<T>(value: T): T {
  return walk(value, (text, kind) => (kind === 'key' ? null : text && MASK)) as T;
}

/** The texts that `shown` hides. */
export function secretTexts(value: unknown): string[] {
  const found: string[] = [];
  walk(value, (text) => found.push(text));
  return found;
}

/** `next` with every mask replaced by what `old` has at that place; a mask without an original is null. */
export function unmasked<T>(next: T, old: unknown): T {
  if (next === MASK) return (typeof old === 'string' ? old : null) as T;
  if (Array.isArray(next)) return next.map((item: unknown) => unmasked(item, sameServerIn(item, old))) as T;
  if (!isTree(next)) return next;
  const before: Tree = isTree(old) ? old : {};
  return Object.fromEntries(
    Object.entries(next).map(([key, inner]) => [key, unmasked(inner, own(before, key))]),
  ) as T;
}

/** The element of a list that is the same server: by its url, else by its name. */
function sameServerIn(item: unknown, old: unknown): unknown {
  if (!Array.isArray(old) || !isTree(item)) return undefined;
  return old.find(
    (one: unknown) =>
      isTree(one) && (item['url'] === undefined ? one['name'] === item['name'] : one['url'] === item['url']),
  );
}

/** Whether the texts of a header of this name are kept from readers. */
const isSecretHeader = (name: string): boolean => SECRET_HEADER.test(name);

function walk(value: unknown, replace: (text: string, kind: 'key' | 'other') => unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => walk(item, replace));
  if (!isTree(value)) return value;
  const credential = isCredential(value);
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      if (typeof inner === 'string' && KEYS.has(key)) return [key, replace(inner, 'key')];
      if (typeof inner === 'string' && (MASKED.has(key) || (credential && OF_CREDENTIALS.has(key))))
        return [key, replace(inner, 'other')];
      if (isTree(inner) && (MAPS.has(key) || HEADERS.has(key))) {
        const texts = Object.entries(inner).map(([name, text]) => {
          if (typeof text !== 'string') return [name, walk(text, replace)];
          const hidden = MAPS.has(key) || credential || isSecretHeader(name);
          return [name, hidden ? replace(text, 'other') : text];
        });
        return [key, Object.fromEntries(texts)];
      }
      return [key, walk(inner, replace)];
    }),
  );
}

/** Credentials of MCP servers have a strategy, secrets of the agent's context a kind. */
function isCredential(value: Tree): boolean {
  return typeof own(value, 'strategy') === 'string' || own(value, 'kind') === 'StaticSecret';
}

/** A JSON object: neither null nor a list. */
export function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A member of the object itself, never one of its prototype. */
export function own(tree: Tree, key: string): unknown {
  return Object.hasOwn(tree, key) ? tree[key] : undefined;
}
