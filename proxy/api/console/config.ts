// `GET /config`: the configuration in force as its files state it, each value with file and line, secrets masked by allowlist; the
// last reload and everything doubtful.
import { basename } from 'node:path';
import type { Issue } from '../../../config/issue.ts';
import { below, isInert, SCHEMA, type SchemaNode } from '../../../config/schema.ts';
import { nodeAt, pathText, placeIn, type Path, type Tree } from '../../../config/tree.ts';
import type { Deployment } from '../../../config/snapshot.ts';
import type { ConfigReloader } from '../../active-config/config-reloader.ts';
import type { Exchange } from '../../pipeline/exchange.ts';
import { sendJson } from '../../pipeline/respond.ts';
import { shown } from '../audit.ts';

/** A page shows no more; models stand apart. */
const MOST_SETTINGS = 2_000;
const MOST_MODELS = 10_000;

interface Setting {
  readonly path: string;
  /** As it is written; `os.environ/NAME` names where a value comes from. */
  readonly value: unknown;
  readonly place: string;
}

export function showConfig(x: Exchange, reloader: ConfigReloader): void {
  const { snapshot } = x.active;
  const { tree } = reloader.shared.source;
  const { result, atMs, inForceMs, issues } = reloader.state;
  const settings = [...settingsIn(tree, [], SCHEMA)];
  const models = snapshot.deployments.slice(0, MOST_MODELS);
  const places = placesOfModels(tree, snapshot.deployments);
  sendJson(x, {
    version: snapshot.version,
    files: snapshot.files,
    reload: {
      result,
      at: new Date(atMs).toISOString(),
      since: new Date(inForceMs).toISOString(),
      issues: issues.map(issueView),
    },
    warnings: snapshot.warnings.map(issueView),
    settings: settings.slice(0, MOST_SETTINGS),
    settings_total: settings.length,
    models: models.map((one) => ({
      id: one.id,
      model_name: one.group,
      source: one.source,
      place: places.get(one.id) ?? null,
    })),
    models_total: snapshot.deployments.length,
    disabled: snapshot.disabled.map(({ id, group, issues: why }) => ({
      id,
      model_name: group,
      issues: why.map(issueView),
    })),
  });
}

function issueView(issue: Issue): object {
  const { severity, line, column, path, message, fix } = issue;
  const file = basename(issue.file);
  return { severity, place: line > 0 ? `${file}:${line}:${column}` : file, path, message, fix };
}

/** Values of the files, model entries apart. An empty section is one: it may switch a feature on. */
function* settingsIn(tree: Tree, path: Path, schema: SchemaNode | undefined): Generator<Setting> {
  if (path.length === 1 && path[0] === 'model_list') return;
  const value = valueOf(tree);
  if (value !== null || schema === undefined || isInert(schema)) {
    yield {
      path: pathText(path),
      value: shown(value?.is, schema, String(path.at(-1) ?? '')),
      place: placeOf(tree),
    };
    return;
  }
  // What lies in a secret is one, too: each of its values is masked, and so they are counted.
  const inner = (step: string | number): SchemaNode | undefined =>
    schema['x-secret'] === true ? schema : below(schema, step);
  if (tree.kind === 'list')
    for (const [index, item] of tree.items.entries()) yield* settingsIn(item, [...path, index], inner(index));
  else if (tree.kind === 'map')
    for (const [name, member] of tree.members) yield* settingsIn(member.tree, [...path, name], inner(name));
}

/** null = it has values of its own. */
function valueOf(tree: Tree): { readonly is: unknown } | null {
  if (tree.kind === 'scalar') return { is: tree.reference ?? tree.value };
  if (tree.kind === 'list') return tree.items.length === 0 ? { is: [] } : null;
  return tree.members.size === 0 ? { is: {} } : null;
}

function placeOf({ file, offset }: Tree): string {
  const { line } = placeIn(file, offset);
  return line > 0 ? `${basename(file.name)}:${line}` : basename(file.name);
}

/** Places by id. Entries are served in the order of the file; where some are skipped, none has a place. */
function placesOfModels(tree: Tree, all: readonly Deployment[]): ReadonlyMap<string, string> {
  const list = nodeAt(tree, ['model_list']);
  const ofFile = all.filter(({ source }) => source === 'config');
  if (list?.kind !== 'list' || list.items.length !== ofFile.length) return new Map();
  return new Map(list.items.map((entry, index) => [ofFile[index]?.id ?? '', placeOf(entry)]));
}
