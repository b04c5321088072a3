// Values that are valid and very likely a mistake: `${GW_KEY}` in the spelling of another tool, which would go upstream as
// the key itself, and keys that were pasted into the file. Warnings, because a password may look like anything.
import type { Diagnostics } from './diagnostics.ts';
import { ENV_MARKER } from './dialect.ts';
import { below, isInert, isUnknown, SCHEMA, type SchemaNode } from './schema.ts';
import type { Path, Tree } from './tree.ts';

/** Each captures the name of the variable. */
const SPELLINGS: readonly RegExp[] = [
  /^\$\{(?:env[.:])?([A-Za-z_]\w*)(?::?[-?][^}]*)?\}$/,
  /^\$([A-Z_][A-Z0-9_]*)$/,
  /^\$env:([A-Za-z_]\w*)$/i,
  /^%([A-Z_][A-Z0-9_]*)%$/,
  /^os[._]?environ(?:\.get)?\s*[[(]\s*["']?([A-Za-z_]\w*)["']?\s*[\])]$/i,
  /^(?:os\.)?getenv\(\s*["']?([A-Za-z_]\w*)["']?\s*\)$/i,
  /^os[._/]env[a-z]*[.:/\\]\s*([A-Za-z_]\w*)$/i,
  /^(?:process\.env|env|environ|environment)[.:/]([A-Z_][A-Z0-9_]*)$/,
  /^\{\{-?\s*(?:\$?\.?env\.|env\s+["']?|\.?Values\.)([\w.]+?)["']?\s*-?\}\}$/,
];
/** `Bearer os.environ/GW_KEY`, `https://${HOST}/v1`: a reference stands for a whole value. */
const WITHIN = /\$\{(?:env[.:])?([A-Za-z_]\w*)\}|.os\.env[a-z]*\/(\w+)/i;

/** Prefixes that vendors give to their keys. */
const VENDOR_KEY =
  /^(?:sk-(?:ant-|proj-|or-|svcacct-|lf-)?|pk-lf-|gsk_|xai-|hf_|AIza|AKIA|ghp_|github_pat_|glpat-|xox[abp]-|r8_|nvapi-|pplx-|csk-|fw_|tgp_)[\w-]{20,}$/;
const RANDOM = /^[A-Za-z0-9+/_=-]{32,}$/;
const PLACEHOLDER =
  /example|dummy|sample|placeholder|change|replace|your|test|demo|secret|xxxx|0{6}|^(?:sk-)?1234/i;
/** Random text of 20 characters has about 17 different ones; words and patterns have fewer. */
const FEWEST_DIFFERENT = 13;

/** Warns once for each variable and once for all pasted keys. @param root as written @param keep whether a path is looked at */
export function checkHints(root: Tree, diagnostics: Diagnostics, keep: (path: Path) => boolean): void {
  const references = new Map<
    string,
    { readonly name: string; readonly message: string; readonly paths: Path[] }
  >();
  const pasted: Path[] = [];
  // What nothing reads is said to have no effect, so nobody needs to spell a reference in it otherwise.
  const visit = (
    tree: Tree,
    schema: SchemaNode | undefined,
    path: Path,
    secret: boolean,
    isRead: boolean,
  ): void => {
    if (tree.kind === 'list')
      tree.items.forEach((item, index) => visit(item, schema?.items, [...path, index], secret, isRead));
    else if (tree.kind === 'map')
      for (const [key, member] of tree.members) {
        const inner = below(schema, key);
        const { tree: value } = member;
        if (value.kind === 'scalar' && !isSuspicious(value.value)) continue; // most values; no path is built for them
        visit(
          value,
          inner,
          [...path, key],
          inner?.['x-secret'] ?? secret,
          isRead && !isInert(inner) && !isUnknown(schema, key),
        );
      }
    else if (typeof tree.value === 'string') {
      const found = meant(tree.value);
      if (found !== null) {
        if (!isRead) return;
        const key = `${found.name} ${found.message}`;
        const known = references.get(key);
        if (known === undefined) references.set(key, { ...found, paths: [path] });
        else known.paths.push(path);
      } else if (looksPasted(tree.value, secret)) pasted.push(path);
    }
  };
  visit(root, SCHEMA, [], false, true);
  for (const { name, message, paths } of references.values()) {
    const kept = paths.filter(keep);
    if (kept.length > 0) diagnostics.warnAt(kept, message, `write ${ENV_MARKER}${name} as the whole value`);
  }
  const kept = pasted.filter(keep);
  if (kept.length > 0)
    diagnostics.warnAt(
      kept,
      'looks like a key that was pasted into the file',
      `put it into an environment variable and write ${ENV_MARKER}NAME, or into a file and name that with api_key_file`,
    );
}

/** Whether a value looks like a key of somebody. @param secret whether it stands where secrets stand */
export function looksPasted(text: string, secret: boolean): boolean {
  if (text.startsWith(ENV_MARKER)) return false;
  const bare = text.replace(/^Bearer\s+/i, '');
  if (!VENDOR_KEY.test(bare) && !(secret && RANDOM.test(bare))) return false;
  return (
    !PLACEHOLDER.test(bare) &&
    new Set(bare).size >= FEWEST_DIFFERENT &&
    /\d/.test(bare) &&
    /[A-Za-z]/.test(bare)
  );
}

function isSuspicious(value: unknown): boolean {
  return typeof value === 'string' && value.length > 2;
}

function meant(text: string): { readonly name: string; readonly message: string } | null {
  if (text.startsWith(ENV_MARKER) && !/^os\.environ\/\s/.test(text)) return null;
  for (const spelling of SPELLINGS) {
    const name = spelling.exec(text.trim())?.[1];
    if (name !== undefined)
      return { name, message: 'is taken literally, and looks like a reference to a variable' };
  }
  const within = WITHIN.exec(text);
  const name = within?.[1] ?? within?.[2];
  if (name === undefined) return null;
  return { name, message: 'has a reference to a variable inside of a text, where none is replaced' };
}
