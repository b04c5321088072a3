// What the README claims, held against the program: its lists are whole, its example loads, and headers and sessions go as its
// tables say. Links, commands and their flags are checked with those of all pages (docs.test.ts).
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import t from 'tap';
import { loadConfig } from '../../config/load.ts';
import { FAULTS } from '../../proxy/errors/codes.ts';
import { ENDPOINTS } from '../../proxy/protocols/table.ts';
import { rowOf } from '../../proxy/spend/record/row.ts';
import { folder, runWithin } from '../support/cli.ts';
import { defaultConfig, KEY, send, startRig } from '../support/rig.ts';
import { beginOf, settleOf } from '../proxy/spend/record/fixture/records.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const README = readFileSync(join(ROOT, 'README.md'), 'utf8');

/** The text of a section, without its heading. */
function section(title: string): string {
  const [, text = ''] = README.split(`\n## ${title}\n`);
  return text.split('\n## ', 1)[0] ?? '';
}

const codeIn = (text: string): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
/** Cells of the rows of a table. */
const rowsOf = (text: string): string[][] =>
  text
    .split('\n')
    .filter((line) => /^\| (?!-)/.test(line))
    .map((line) =>
      line
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );

t.test('the ends of a request are all of them, and no other', async (t) => {
  const [, list = ''] = /whatever its end:([^.]*)\./.exec(README) ?? [];
  const source = readFileSync(join(ROOT, 'proxy/spend/record/record.ts'), 'utf8');
  const [, union = ''] = /export type EndReason =([^;]*);/.exec(source.replaceAll(/ \/\/.*$/gm, '')) ?? [];
  const known = [...union.matchAll(/'(\w+)'/g)].map(([, reason = '']) => reason);
  t.ok(known.length > 5);
  t.same(codeIn(list).toSorted(), known.toSorted());
});

t.test('the LLM endpoints are all of them', async (t) => {
  const [list = ''] = section('Endpoints').split(' - below');
  const plain = list.replaceAll('\\', '').replaceAll(/\([^)]*\)/g, '');
  const claimed = plain.split(/[\s,`]+/).filter((word) => /^[a-z_/*]+$/.test(word));
  const isClaimed = (path: string): boolean =>
    claimed.some((one) => (one.endsWith('*') ? path.startsWith(one.slice(0, -1)) : one === path));
  t.same(
    ENDPOINTS.map(({ path }) => path).filter((path) => !isClaimed(path)),
    [],
  );
  const isThere = (one: string): boolean =>
    ENDPOINTS.some(({ path }) => (one.endsWith('*') ? path.startsWith(one.slice(0, -1)) : path === one));
  t.same(
    claimed.filter((one) => !isThere(one)),
    [],
  );
});

t.test(
  'members of the row in the example are members of a row; codes that are named are codes',
  async (t) => {
    const [, example = ''] = /```json\n([^]*?)```/.exec(section('Spend records')) ?? [];
    const row = rowOf(settleOf(beginOf('a')));
    t.same(
      Object.keys(JSON.parse(example) as object).filter((name) => !Object.hasOwn(row, name)),
      [],
    );
    const codes = [...README.matchAll(/\d{3} `([a-z_]+)`|\(`([a-z_]+)`:/g)].map(([, a, b]) => a ?? b ?? '');
    t.ok(codes.length >= 2);
    t.same(
      codes.filter((code) => !Object.hasOwn(FAULTS, code)),
      [],
    );
  },
);

t.test('every subcommand stands in the table, and none that is not there', async (t) => {
  const { out } = await runWithin(['--help']);
  const [, commands = ''] = /\nCommands:\n([^]*?)(?:\n\n|$)/.exec(out) ?? [];
  const known = [...commands.matchAll(/^ {2}([a-z][a-z-]*)/gm)].map(([, name = '']) => name);
  t.ok(known.length > 10);
  const claimed = [...section('Command line').matchAll(/^\| `npx throughline ([a-z-]+)/gm)];
  const names = new Set(claimed.map(([, name = '']) => name));
  t.same(
    known.filter((name) => name !== 'help' && !names.has(name)),
    [],
  );
  t.same(
    [...names].filter((name) => !known.includes(name)),
    [],
  );
});

t.test('the example configuration loads without an issue or a warning', async (t) => {
  const [, yaml = ''] = /```yaml\n([^]*?)```/.exec(section('model_list')) ?? [];
  const path = join(folder(t), 'gateway.yaml');
  writeFileSync(path, yaml);
  const env = {
    MASTER_KEY: 'sk-1-master-key',
    AGENTS_KEY: 'sk-2-agents-key',
    GATEWAY_KEY: 'g',
    MODELS_KEY: 'm',
  };
  const loaded = loadConfig(path, env);
  t.ok(loaded.ok);
  t.same(loaded.ok ? loaded.snapshot.warnings : loaded.issues, []);
});

t.test('SECURITY.md counts the packages', async (t) => {
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    dependencies: object;
  };
  const [, count = ''] =
    /(\d+) packages at run time/.exec(readFileSync(join(ROOT, 'SECURITY.md'), 'utf8')) ?? [];
  t.equal(Number(count), Object.keys(dependencies).length);
});

t.test('the version of Node that is needed is that of the package', async (t) => {
  const { engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    engines: { node: string };
  };
  const [, version = ''] = /older than (\d+\.\d+)/.exec(README) ?? [];
  t.equal(engines.node, `>=${version}.0`);
});

t.test('headers and sessions', async (t) => {
  const rig = await startRig(t, { config: (demo) => defaultConfig(demo) });
  const call = { model: 'demo', messages: [{ role: 'user', content: 'Hello' }] };
  const arrived = (): Map<string, string> => {
    const { rawHeaders = [] } = rig.demo.seen.at(-1) ?? {};
    return new Map(
      rawHeaders.flatMap((name, i) => (i % 2 === 0 ? [[name.toLowerCase(), rawHeaders[i + 1] ?? '']] : [])),
    );
  };

  t.test('go upstream, or not, as the table says', async (t) => {
    // Of the others one cannot send what describes the connection, and the deployment's own are tested with its rules.
    const rows = rowsOf(section('Headers')).filter(([, , rule = '']) => !/hop-by-hop|in full/.test(rule));
    const [dropped, forwarded] = ['dropped', 'forwarded'].map((outcome) =>
      rows.filter(([, says]) => says === outcome).flatMap(([names = '']) => codeIn(names)),
    ) as [string[], string[]];
    t.ok(dropped.length > 8 && forwarded.length > 3);
    const own = new Set(['content-type', 'accept', 'authorization']);
    const example = (name: string): string => name.replace('*', name.endsWith('-*') ? 'probe' : '-probe');
    const headers = [...dropped, ...forwarded].map(example).filter((name) => !own.has(name));
    // A header whose value holds a key is dropped for that, so each has a value of its own; the first key must be one.
    const values = new Map(headers.map((name, n) => [name, `probe-value-${n + 100}`]));
    values.set('x-litellm-api-key', KEY);
    values.set('x-litellm-timeout', '600');
    const answer = await send(rig.url, 'POST', '/v1/chat/completions', call, Object.fromEntries(values));
    t.equal(answer.status, 200, answer.text);
    const got = arrived();
    t.same(
      dropped.map(example).filter((name) => values.has(name) && got.get(name) === values.get(name)),
      [],
    );
    t.same(
      forwarded.map(example).filter((name) => values.has(name) && !got.has(name)),
      [],
    );
    t.match(got.get('authorization'), /^Bearer sk-upstream-secret$/);
    t.match(got.get('user-agent'), /^throughline\//);
  });

  t.test('the session id is the first that is there, in the order of the list', async (t) => {
    const [, list = ''] = /\*\*Session id\*\*, first that is there:([^]*?), else/.exec(README) ?? [];
    const places = codeIn(list).map((one) => one.replace('x-<vendor>-', 'x-acme-'));
    t.ok(places.length >= 7);
    for (const [first] of places.entries()) {
      const rest = places.slice(first).map((place, n) => [place, `session-${first + n}`] as const);
      const headers = Object.fromEntries(rest.filter(([place]) => place.startsWith('x-')));
      const members = Object.fromEntries(
        rest.filter(([place]) => !place.startsWith('x-') && !place.includes('.')),
      );
      const inMetadata = rest.find(([place]) => place === 'metadata.session_id')?.[1];
      const metadata = inMetadata === undefined ? {} : { metadata: { session_id: inMetadata } };
      const answer = await send(
        rig.url,
        'POST',
        '/v1/chat/completions',
        { ...call, ...members, ...metadata },
        headers,
      );
      t.equal(
        answer.headers['x-litellm-session-id'],
        `session-${first}`,
        `${places[first]} before the others: ${answer.text}`,
      );
    }
  });
});
