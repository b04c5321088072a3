// What a model that was added while the server runs may do beside the models of the file. An entry that refers to the
// environment or to a key of the operator, that would take calls of a configured name, or that leads to a link-local
// address is set aside before anything of it is resolved, so that no secret gets near it. Pure.
import { Diagnostics, RUNTIME_FILE } from './diagnostics.ts';
import { ENV_MARKER } from './dialect.ts';
import type { Issue } from './issue.ts';
import { isLinkLocalHost } from './link-local.ts';
import { withReferences } from './references.ts';
import type { Environment } from './environment.ts';
import type { SecretFiles } from './secret-files.ts';
import { publicOf } from './resolve/public.ts';
import { memberOf, nodeAt, pathText, treeOf, withMember, type Path, type Tree } from './tree.ts';

/** A model that was added while the server runs. */
export interface RuntimeModel {
  /** One `model_list` entry as given to `POST /model/new`. */
  readonly entry: unknown;
  /** Id of the deployment it becomes. */
  readonly id: string;
}

/** One that the configuration does not allow; it serves nothing until it, or the configuration, is changed. */
export interface DisabledModel {
  readonly id: string;
  /** `model_name`. */
  readonly group: string;
  /** `model_info` and litellm_params as `/model/info` returns them: no secrets. */
  readonly info: Readonly<Record<string, unknown>>;
  readonly publicParams: Readonly<Record<string, unknown>>;
  /** Why; never empty. */
  readonly issues: readonly Issue[];
}

type Problem = Pick<Issue, 'path' | 'message' | 'fix'>;

interface ConfiguredName {
  /** As written, for messages. */
  readonly name: string;
  readonly folded: string;
  readonly what: 'a model_name' | 'an alias';
}

/** What the file says, as far as it concerns runtime models. */
interface FileFacts {
  readonly allowReferences: boolean;
  readonly allowJoin: boolean;
  readonly allowLinkLocal: boolean;
  readonly exact: ReadonlyMap<string, ConfiguredName>;
  readonly patterns: readonly ConfiguredName[];
  /** api_base by credential name; null = it has none. */
  readonly credentials: ReadonlyMap<string, string | null>;
}

const ANYWHERE = new RegExp(ENV_MARKER.replaceAll('.', String.raw`\.`), 'i');
const WHOLE = /^os\.environ\/\w{1,100}$/;
const BASES = ['api_base', 'base_url'];
const HEADERS = ['headers', 'extra_headers'];

/**
 * Sets runtime models aside that the file does not allow.
 * @param file as written
 * @param own the environment, with the file's own variables
 */
export function screened(
  file: Tree,
  env: Environment,
  own: Environment,
  files: SecretFiles,
  runtime: readonly RuntimeModel[],
): { readonly admitted: readonly RuntimeModel[]; readonly disabled: readonly DisabledModel[] } {
  if (runtime.length === 0) return { admitted: runtime, disabled: [] };
  const facts = factsOf(withReferences(file, env, own, files, new Diagnostics(file)));
  const admitted: RuntimeModel[] = [];
  const disabled: DisabledModel[] = [];
  for (const model of runtime) {
    const tree = entryTree(model);
    const problems = [...problemsOf(tree, facts)];
    if (problems.length === 0) admitted.push(model);
    else disabled.push(disabledModel(model.id, tree, problems));
  }
  return { admitted, disabled };
}

/**
 * The entry of a runtime model as part of a configuration. In JSON null is a member that is left out: it was sent on purpose,
 * where an empty place in a file may be a value that a template did not have. So it hides no value of a credential either.
 */
export function entryTree({ entry }: RuntimeModel): Tree {
  const tree = treeOf(entry, RUNTIME_FILE);
  const params = memberOf(tree, 'litellm_params');
  if (tree.kind !== 'map' || params?.kind !== 'map') return tree;
  const stated = [...params.members].filter(
    ([, { tree: value }]) => value.kind !== 'scalar' || value.value !== null,
  );
  return withMember(tree, 'litellm_params', { ...params, members: new Map(stated) });
}

function disabledModel(id: string, tree: Tree, problems: readonly Problem[]): DisabledModel {
  return {
    id,
    group: textAt(tree, ['model_name']) ?? '',
    info: publicOf(memberOf(tree, 'model_info')),
    publicParams: publicOf(memberOf(tree, 'litellm_params'), ['api_key']),
    issues: problems.map((problem) => ({
      severity: 'error',
      file: RUNTIME_FILE.name,
      line: 0,
      column: 0,
      ...problem,
    })),
  };
}

/** What an operator reads about models that are set aside. */
export function disabledWarnings(disabled: readonly DisabledModel[]): Issue[] {
  return disabled.flatMap(({ id, issues }) =>
    issues.map((issue) => ({
      ...issue,
      severity: 'warning' as const,
      message: `the model ${quoted(id)} is disabled: this ${issue.message}`,
    })),
  );
}

function* problemsOf(tree: Tree, facts: FileFacts): Generator<Problem> {
  if (!facts.allowReferences) {
    yield* referenceProblems(tree, []);
    yield* fileProblems(tree);
    yield* credentialProblems(tree, facts);
  }
  if (!facts.allowJoin) yield* joinProblems(tree, facts);
  if (!facts.allowLinkLocal) yield* addressProblems(tree, facts);
}

function* referenceProblems(tree: Tree, path: Path): Generator<Problem> {
  if (tree.kind === 'scalar') {
    if (typeof tree.value !== 'string' || !ANYWHERE.test(tree.value)) return;
    const what = WHOLE.test(tree.value) ? tree.value : `${ENV_MARKER}NAME`;
    yield problem(
      path,
      `refers to the environment of the proxy (${what}), which models of /model/new must not`,
      instead('write the value itself', 'allow_references'),
    );
    return;
  }
  const inner: Iterable<readonly [string | number, Tree]> =
    tree.kind === 'list' ? tree.items.entries() : membersOf(tree);
  for (const [key, below] of inner) yield* referenceProblems(below, [...path, key]);
}

/** The path of a file of this machine must not come from a caller: its content would go wherever the model leads. */
function* fileProblems(tree: Tree): Generator<Problem> {
  for (const [key, value] of membersOf(memberOf(tree, 'litellm_params')))
    if (/_file$/i.test(key) || (CERTIFICATES.has(key) && !isSwitch(value)))
      yield problem(
        ['litellm_params', key],
        'names a file of the proxy, which models of /model/new must not',
        instead('write the value itself', 'allow_references'),
      );
}

/** `ssl_verify: true` names no file. */
const CERTIFICATES: ReadonlySet<string> = new Set(['ssl_verify', 'ssl_certificate', 'ssl_certificate_key']);
const isSwitch = (tree: Tree): boolean =>
  tree.kind === 'scalar' && /^(?:null|true|false)$/i.test(String(tree.value));

function* membersOf(tree: Tree | undefined): Generator<readonly [string, Tree]> {
  if (tree?.kind === 'map') for (const [key, { tree: below }] of tree.members) yield [key, below];
}

/** A key of the operator goes where the operator sends it, and with nothing that could steer the gateway there. */
function* credentialProblems(tree: Tree, { credentials }: FileFacts): Generator<Problem> {
  const at = ['litellm_params', 'litellm_credential_name'];
  const name = textAt(tree, at);
  const base = name === null ? undefined : credentials.get(name);
  if (base === undefined) return; // without a credential, or with one that does not exist: the validation says so
  if (base === null)
    yield problem(
      at,
      'names a credential without an api_base, so its key could be sent to any address',
      instead('add api_base to the credential', 'allow_references'),
    );
  for (const key of BASES) {
    const own = nodeAt(tree, ['litellm_params', key]);
    if (own === undefined || isEmpty(own) || base === null || isSameBase(own, base)) continue;
    yield problem(
      ['litellm_params', key],
      'is not the api_base of the credential that the model uses',
      instead("remove it, so that the credential's is used", 'allow_references'),
    );
  }
  for (const key of HEADERS) {
    const own = nodeAt(tree, ['litellm_params', key]);
    if (own === undefined || isEmpty(own)) continue;
    yield problem(
      ['litellm_params', key],
      "must not be set with litellm_credential_name, because headers can have a gateway use the credential's key elsewhere",
      instead('remove it, or add the headers to the credential', 'allow_references'),
    );
  }
}

function* joinProblems(tree: Tree, { exact, patterns }: FileFacts): Generator<Problem> {
  const name = textAt(tree, ['model_name']);
  if (name === null) return;
  const text = joinText(name, exact, patterns);
  if (text === null) return;
  yield problem(
    ['model_name'],
    `${text} in the configuration file, whose calls a model of /model/new must not take`,
    instead('choose another name', 'allow_join'),
  );
}

function joinText(name: string, exact: FileFacts['exact'], patterns: FileFacts['patterns']): string | null {
  const folded = fold(name);
  const same = exact.get(folded) ?? patterns.find((other) => other.folded === folded);
  if (same !== undefined)
    return same.name === name
      ? `is ${same.what}`
      : `differs only in spelling from ${quoted(same.name)}, ${same.what}`;
  const isPattern = folded.includes('*');
  const others = isPattern ? [...exact.values(), ...patterns] : patterns;
  const other = others.find((one) => doMeet(one.folded, folded));
  if (other === undefined) return null;
  return `${isPattern ? 'overlaps with' : 'is covered by'} ${quoted(other.name)}, ${other.what}`;
}

function* addressProblems(tree: Tree, { credentials }: FileFacts): Generator<Problem> {
  const message = 'leads to a link-local or metadata address, which models of /model/new must not use';
  const fix = instead('name another address', 'allow_link_local');
  for (const key of BASES) {
    const text = textAt(tree, ['litellm_params', key]);
    if (text !== null && leadsAside(text)) yield problem(['litellm_params', key], message, fix);
  }
  const name = textAt(tree, ['litellm_params', 'litellm_credential_name']);
  const base = name === null ? null : credentials.get(name);
  if (typeof base === 'string' && leadsAside(base))
    yield problem(['litellm_params', 'litellm_credential_name'], message, fix);
}

function leadsAside(base: string): boolean {
  const url = URL.parse(base);
  return url !== null && isLinkLocalHost(url.hostname);
}

/** @param file with references resolved */
function factsOf(file: Tree): FileFacts {
  const allows = (key: string): boolean => {
    const node = nodeAt(file, ['general_settings', 'runtime_models', key]);
    return node?.kind === 'scalar' && node.value === true;
  };
  const names = namesOf(file);
  return {
    allowReferences: allows('allow_references'),
    allowJoin: allows('allow_join'),
    allowLinkLocal: allows('allow_link_local'),
    exact: new Map(names.filter(({ folded }) => !folded.includes('*')).map((name) => [name.folded, name])),
    patterns: names.filter(({ folded }) => folded.includes('*')),
    credentials: credentialBases(file),
  };
}

function namesOf(file: Tree): ConfiguredName[] {
  const names: ConfiguredName[] = [];
  const list = memberOf(file, 'model_list');
  for (const entry of list?.kind === 'list' ? list.items : []) {
    const name = textAt(entry, ['model_name']);
    if (name !== null) names.push({ name, folded: fold(name), what: 'a model_name' });
  }
  const aliases = nodeAt(file, ['router_settings', 'model_group_alias']);
  for (const name of aliases?.kind === 'map' ? aliases.members.keys() : [])
    names.push({ name, folded: fold(name), what: 'an alias' });
  return names;
}

/** api_base by credential name; null = it has none. @param file with references resolved */
export function credentialBases(file: Tree): ReadonlyMap<string, string | null> {
  const list = memberOf(file, 'credential_list');
  const bases = new Map<string, string | null>();
  for (const item of list?.kind === 'list' ? list.items : []) {
    const name = textAt(item, ['credential_name']);
    const [base = null] = BASES.flatMap((key) => textAt(item, ['credential_values', key]) ?? []);
    if (name !== null) bases.set(name, base);
  }
  return bases;
}

/** Names that a person takes for one another count as one: case, width, spaces and invisible characters aside. */
function fold(name: string): string {
  return name
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[\p{Cf}\s]/gu, '');
}

/** Whether some text matches both patterns; `*` stands for any text. */
function doMeet(a: string, b: string): boolean {
  // below[j]: whether what follows the current character of `a` and b.slice(j) have a text in common.
  let below = Array.from({ length: b.length + 1 }, (_, j) => /^\**$/.test(b.slice(j)));
  for (let i = a.length - 1; i >= 0; i -= 1) {
    const x = a.charAt(i);
    const row: boolean[] = [];
    for (let j = b.length; j >= 0; j -= 1) {
      const y = b.charAt(j);
      // A star ends, or takes the next character of the other pattern.
      if (x === '*') row[j] = below[j] === true || (y !== '' && row[j + 1] === true);
      else if (y === '*') row[j] = row[j + 1] === true || below[j] === true;
      else row[j] = x === y && below[j + 1] === true;
    }
    below = row;
  }
  return below[0] === true;
}

function isSameBase(own: Tree, base: string): boolean {
  const [a, b] = [own.kind === 'scalar' ? URL.parse(String(own.value)) : null, URL.parse(base)];
  if (a === null || b === null) return false;
  const plain = (url: URL): string => url.href.replace(/\/+$/, '');
  return plain(a) === plain(b);
}

/** Names and ids of models are no secrets: listings show them. */
const quoted = (name: string): string => `'${name.slice(0, 80)}'`;

const isEmpty = (tree: Tree): boolean => tree.kind === 'scalar' && tree.value === null;

function textAt(tree: Tree, path: Path): string | null {
  const node = nodeAt(tree, path);
  return node?.kind === 'scalar' && node.value !== null ? String(node.value) : null;
}

function problem(path: Path, message: string, fix: string): Problem {
  return { path: pathText(path), message, fix };
}

function instead(fix: string, setting: string): string {
  return `${fix}, or have the operator set general_settings.runtime_models.${setting}`;
}
