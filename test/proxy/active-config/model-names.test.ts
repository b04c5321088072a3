// The names of GET /v1/models from a configuration and from what gateways list.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { patternOf } from '../../../config/resolve/groups.ts';
import { loadConfig } from '../../../config/load.ts';
import type { Snapshot } from '../../../config/snapshot.ts';
import type { GatewayList } from '../../../proxy/active-config/discovered-models.ts';
import { modelNames } from '../../../proxy/active-config/model-names.ts';

const path = join(t.testdir(), 'gateway.yaml');
const entry = (name: string, model: string, base = 'a', more = 'discover_models: true'): string =>
  `  - model_name: "${name}"\n    litellm_params: { model: "${model}", api_base: "http://${base}/v1", api_key: k, ${more} }\n`;

function snapshotOf(entries: readonly string[], more = ''): Snapshot {
  writeFileSync(path, `model_list:\n${entries.join('')}${more}`);
  const loaded = loadConfig(path, {});
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.issues));
  return loaded.snapshot;
}

const listOf = (ids: readonly string[] | null, more: Partial<GatewayList> = {}): GatewayList => ({
  ids: ids === null ? null : new Set(ids.filter((id) => !id.includes('*'))),
  patterns: (ids ?? []).filter((id) => id.includes('*')).map(patternOf),
  left: 0,
  error: null,
  ...more,
});

/** @param lists by host of the gateway */
function names(
  snapshot: Snapshot,
  lists: Readonly<Record<string, GatewayList>>,
): Record<'listed' | 'ghosts', string[]> {
  const found = modelNames(
    snapshot,
    (one) => lists[new URL(one.origin).hostname] ?? listOf(null),
    () => ['known'],
  );
  return { listed: found.listed.map(({ name }) => name), ghosts: found.ghosts.map(({ name }) => name) };
}

t.test('a pattern stands as the names of its gateway', async (t) => {
  const list = listOf(['gpt-a', 'gpt-b', 'other']);
  const cases: readonly (readonly [name: string, model: string, expected: readonly string[]])[] = [
    ['*', 'openai/*', ['gpt-a', 'gpt-b', 'other']],
    ['gpt-*', 'openai/gpt-*', ['gpt-a', 'gpt-b']],
    ['team/*', 'openai/gpt-*', ['team/a', 'team/b']],
    ['mine-*', 'openai/fixed', ['mine-*']],
    ['*-*', 'openai/*-*', ['gpt-a', 'gpt-b']],
    ['*/*', 'openai/*', ['*/*']],
  ];
  for (const [name, model, expected] of cases)
    t.strictSame(
      names(snapshotOf([entry(name, model)]), { a: list }),
      { listed: expected, ghosts: [] },
      name,
    );
});

t.test('until the gateway has answered, everything is as without discovery', async (t) => {
  const snapshot = snapshotOf([entry('*', 'openai/*'), entry('x', 'openai/x')]);
  t.strictSame(names(snapshot, {}), { listed: ['*', 'x', 'openai/known'], ghosts: [] });
  t.strictSame(names(snapshot, { a: listOf(['x', 'y']) }), { listed: ['y', 'x'], ghosts: [] });
});

t.test('what no gateway of a name lists is left out', async (t) => {
  const entries = [
    entry('ghost', 'openai/gone'),
    entry('half', 'openai/gone'),
    entry('half', 'openai/there', 'b'),
    entry('sure', 'openai/gone', 'a', ''),
    entry('by-pattern', 'openai/team/x', 'c'),
    entry('cut', 'openai/gone', 'd'),
  ];
  const lists = {
    a: listOf(['x']),
    b: listOf(['there']),
    c: listOf(['team/*']),
    d: listOf(['x'], { left: 3 }),
  };
  const more = 'router_settings: { model_group_alias: { nick: ghost, other: half } }\n';
  t.strictSame(names(snapshotOf(entries, more), lists), {
    listed: ['half', 'sure', 'by-pattern', 'cut', 'other'],
    ghosts: ['ghost'],
  });
  const shown = snapshotOf(
    entries,
    `${more}general_settings: { model_discovery: { hide_missing: false } }\n`,
  );
  t.strictSame(names(shown, lists).ghosts, []);
});

t.test('only names that lead to the pattern stand under it', async (t) => {
  const entries = [
    entry('*', 'openai/*', 'a'),
    entry('team-*', 'openai/team-*', 'b'),
    entry('own', 'openai/own', 'b', ''),
  ];
  const lists = { a: listOf(['x', 'team-1', 'own', 'with*star']), b: listOf(['team-2']) };
  t.strictSame(names(snapshotOf(entries), { ...lists, a: listOf(['x', 'team-1', 'own']) }).listed, [
    'x',
    'team-2',
    'own',
  ]);
  t.strictSame(
    names(snapshotOf(entries), lists).listed,
    ['*', 'team-2', 'own'],
    'a gateway with patterns serves more than it lists',
  );
});
