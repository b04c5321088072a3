// The entry point of this folder: takes a path, returns a frozen Snapshot or every issue at once. Synchronous, so that
// two reloads never interleave. It keeps no state, starts no timers and prints nothing.
import { createHash } from 'node:crypto';
import { dirname } from 'node:path';
import { Catalogue } from './catalogue.ts';
import { withCredentials } from './credentials.ts';
import { dialectOf, type Dialect } from './dialect.ts';
import { byPlace, Diagnostics } from './diagnostics.ts';
import type { GatewayFile } from './gateway-file.ts';
import type { Issue } from './issue.ts';
import { checkHints } from './hints.ts';
import { environmentOf, withReferences } from './references.ts';
import type { Environment } from './environment.ts';
import { readText, readTextAgain } from './read.ts';
import { deepFreeze } from './resolve/freeze.ts';
import { knownBase } from './resolve/address.ts';
import { NO_NAME, splitModelName, unsupported } from './resolve/kinds/table.ts';
import { resolved } from './resolve/snapshot.ts';
import { disabledWarnings, entryTree, screened, type RuntimeModel } from './runtime-models.ts';
import type { Snapshot } from './snapshot.ts';
import { SecretFiles, withFileVariables, withSecretFiles, type SecretText } from './secret-files.ts';
import { readSource, type ConfigSource, type ReadSource } from './source.ts';
import { memberOf, withMember, type Path, type Tree } from './tree.ts';
import { checkUnread } from './unread-keys.ts';
import { defaults, validated } from './validate.ts';

export type { ConfigSource, Environment, RuntimeModel };

/** A configuration that can be served, or every issue of one that cannot. */
export type Loaded =
  | { readonly ok: true; readonly snapshot: Snapshot; readonly source: ConfigSource }
  | {
      readonly ok: false;
      readonly issues: readonly Issue[];
      /** As in ConfigSource; one of these must change before the result can. */
      readonly read: ReadonlyMap<string, string>;
    };

/**
 * Reads, validates and resolves a configuration file with its includes and runtime additions.
 * @returns a snapshot and the source it was built from, or every issue (errors and warnings), sorted by place
 */
export function loadConfig(path: string, env: Environment, runtime: readonly RuntimeModel[] = []): Loaded {
  return loaded(readSource(path, readText), env, runtime);
}

/** The same in a process that serves: waits for nobody, so a path that names a pipe by now is an issue. */
export function loadConfigAgain(path: string, env: Environment, runtime: readonly RuntimeModel[]): Loaded {
  return loaded(readSource(path, readTextAgain), env, runtime);
}

function loaded(read: ReadSource, env: Environment, runtime: readonly RuntimeModel[]): Loaded {
  if (!read.ok) return { ok: false, issues: read.issues.toSorted(byPlace), read: read.read };
  return overlay(read.source, env, runtime);
}

/**
 * Resolves the same text with other runtime additions, in the same way as the file. Issues of an addition have no line,
 * and their path starts at the entry: `litellm_params.api_base`. An addition that may not be served is in `disabled`.
 */
export function overlay(source: ConfigSource, env: Environment, runtime: readonly RuntimeModel[]): Loaded {
  const files = new SecretFiles(dirname(source.files[0] ?? ''), source.secrets);
  const stated = environmentOf(source.tree, env, files);
  const { admitted, disabled } = screened(source.tree, env, stated, files, runtime);
  const written = withRuntime(source.tree, admitted);
  const diagnostics = new Diagnostics(written);
  const own = withFileVariables(stated, files, diagnostics);
  const resolvedTree = withReferences(written, env, own, files, diagnostics);
  const tree = withCredentials(withSecretFiles(resolvedTree, files, diagnostics), diagnostics);
  diagnostics.setTree(tree);
  const value = soundParts(validated(tree, diagnostics), diagnostics);
  const skipped = skippedEntries(value, own, diagnostics);
  const kept = (path: Path): boolean => !(path[0] === 'model_list' && skipped.has(Number(path[1])));
  checkUnread(tree, diagnostics, kept);
  checkHints(written, diagnostics, kept);
  if (value.model_list.length === 0 && diagnostics.isSound([]))
    diagnostics.warn(
      ['model_list'],
      'no model is configured',
      'add entries to model_list, or by POST /model/new',
    );
  const runtimeIds = admitted.map((model) => model.id);
  const catalogue = new Catalogue();
  const parts = resolved({
    file: value,
    tree,
    written,
    env: own,
    diagnostics: diagnostics,
    files,
    catalogue,
    skipped,
    runtimeIds,
  });
  // Entries that are skipped report no errors, only the warning that they are skipped.
  const issues = diagnostics.issues((path, severity) => severity === 'warning' || kept(path));
  const read = new Map([...source.read, ...files.identities]);
  if (issues.some((issue) => issue.severity === 'error')) return { ok: false, issues, read };
  const watched = [...new Set([...source.files, ...files.used.keys()])];
  const snapshot = deepFreeze({
    version: versionOf(source, runtime, files.used),
    files: watched,
    ...parts,
    disabled,
    warnings: [...issues, ...disabledWarnings(disabled)],
  });
  return { ok: true, snapshot, source: { ...source, files: watched, secrets: files.used, read } };
}

function withRuntime(tree: Tree, runtime: readonly RuntimeModel[]): Tree {
  if (tree.kind !== 'map' || runtime.length === 0) return tree;
  const list = memberOf(tree, 'model_list');
  const added = runtime.map(entryTree);
  if (list?.kind === 'list')
    return withMember(tree, 'model_list', { ...list, items: [...list.items, ...added] });
  const place = { file: tree.file, offset: tree.offset };
  return withMember(tree, 'model_list', { kind: 'list', items: added, ...place });
}

/** Replaces what is broken by its default, so that the rest can still be checked in the same run. */
function soundParts(value: GatewayFile, diagnostics: Diagnostics): GatewayFile {
  const dflt = defaults();
  const sound = (key: keyof GatewayFile): boolean => diagnostics.isSound([key]);
  const members = <K extends 'general_settings' | 'litellm_settings' | 'router_settings'>(
    key: K,
  ): GatewayFile[K] => ({ ...dflt[key], ...soundMembers(key, value[key], diagnostics) });
  return {
    model_list: Array.isArray(value.model_list) ? value.model_list : [],
    credential_list: Array.isArray(value.credential_list) ? value.credential_list : [],
    keys: Array.isArray(value.keys) ? value.keys : [],
    teams: Array.isArray(value.teams) ? value.teams : [],
    general_settings: members('general_settings'),
    litellm_settings: members('litellm_settings'),
    router_settings: members('router_settings'),
    budgets: sound('budgets') ? value.budgets : dflt.budgets,
    alerts: sound('alerts') ? value.alerts : dflt.alerts,
    ...(value.platform !== undefined && sound('platform') ? { platform: value.platform } : {}),
    ...(value.brake !== undefined && sound('brake') ? { brake: value.brake } : {}),
  };
}

/**
 * What a section states without a mistake. The checks of other sections need it: without the master key that stands
 * beside a mistake, every key would be said to protect nothing.
 */
function soundMembers<T extends object>(section: string, stated: T, diagnostics: Diagnostics): Partial<T> {
  const isMapping = typeof stated === 'object' && !Array.isArray(stated); // a broken section may be anything
  if (!isMapping) return {};
  const sound = Object.entries(stated).filter(([key]) => diagnostics.isSound([section, key]));
  return Object.fromEntries(sound) as Partial<T>;
}

/** Indexes of the entries to skip (`skip_unsupported_models`); warns once for each. */
function skippedEntries(value: GatewayFile, env: Environment, diagnostics: Diagnostics): ReadonlySet<number> {
  const skipped = new Set<number>();
  if (!value.general_settings.skip_unsupported_models) return skipped;
  const dialect: Dialect = dialectOf(value.general_settings.dialect);
  value.model_list.forEach((entry: unknown, index) => {
    const params = member(entry, 'litellm_params');
    const model = member(params, 'model');
    const provider = member(params, 'custom_llm_provider');
    if (typeof model !== 'string') return;
    const name = splitModelName(model, typeof provider === 'string' ? provider : undefined, dialect);
    const at = ['model_list', index, 'litellm_params'];
    if (name.kind === null) {
      const { what, fix } = unsupported(name, dialect);
      const why = name.prefix === '' ? `it ${what}` : what;
      diagnostics.warn([...at, 'model'], `the entry is skipped: ${why}`, fix);
    } else if (name.upstream === '') {
      const [what, fix] = NO_NAME;
      diagnostics.warn([...at, 'model'], `the entry is skipped: it ${what}`, fix);
    } else {
      const isStated = ['api_base', 'base_url', 'mock_response'].some(
        (key) => member(params, key) !== undefined,
      );
      if (isStated || knownBase(name.kind, name.upstream, env) !== null) return;
      const why = 'the entry is skipped: it has no api_base';
      diagnostics.warn([...at, 'model'], why, `add it: ${name.kind.rule(dialect)}`);
    }
    skipped.add(index);
  });
  return skipped;
}

/** Reads a member of an entry that has not been validated yet. */
function member(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null
    ? Object.getOwnPropertyDescriptor(value, key)?.value
    : undefined;
}

/** The first 12 hex digits: enough to tell versions apart in a log. */
function versionOf(
  source: ConfigSource,
  runtime: readonly RuntimeModel[],
  secrets: ReadonlyMap<string, SecretText>,
): string {
  const hash = createHash('sha256').update(source.digest);
  for (const model of runtime) hash.update(JSON.stringify([model.id, model.entry]));
  for (const [path, secret] of secrets) hash.update(JSON.stringify([path, secret.ok ? secret.text : '']));
  return hash.digest('hex').slice(0, 12);
}
