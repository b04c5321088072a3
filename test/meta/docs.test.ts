// The documentation, held against the code: routes, metrics, ends, commands and links that a reader meets must be
// there, and what is there must be named. Also keeps out of every file what belongs to the place it was written in.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, extname, join, relative, resolve } from 'node:path';
import { Ajv } from 'ajv';
import t from 'tap';
import { parse } from 'yaml';
import { formatIssue } from '../../config/issue.ts';
import { loadConfig } from '../../config/load.ts';
import { NAVIGATION } from '../../docs/site/navigation.js';
import { BY_ID, ENDPOINTS } from '../../proxy/protocols/table.ts';
import { ROW_COLUMNS } from '../../proxy/spend/report/columns.ts';
import { helpOfAll } from '../support/cli.ts';
import { chat, defaultConfig, send, startRig } from '../support/rig.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const SKIPPED = new Set(['node_modules', 'dist', 'data', '.git', '.tap']);

function filesBelow(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (SKIPPED.has(entry.name)) return []; // in a git worktree .git is a file
    if (entry.isDirectory()) return filesBelow(path);
    return entry.isFile() ? [path] : [];
  });
}

const FILES = filesBelow('.');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const PAGES = FILES.filter((path) => extname(path) === '.md');
const PROSE = PAGES.map((path) => [path, read(path)] as const);
const ENDPOINTS_PAGE = read('docs/endpoints.md');

/** Anchors that GitHub makes of a page's headings. */
function anchorsOf(text: string): Set<string> {
  const headings = withoutCode(text).matchAll(/^#+ (.+)$/gm);
  return new Set([...headings].map(([, title = '']) => slugOf(title)));
}

function slugOf(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

function withoutCode(text: string): string {
  return text.replaceAll(/^```[^]*?^```/gm, '').replaceAll(/`[^`\n]*`/g, (code) => code.slice(1, -1));
}

function linksOf(text: string): string[] {
  const prose = text.replaceAll(/^```[^]*?^```/gm, '').replaceAll(/`[^`\n]*`/g, '');
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
}

t.test('every link to a file or a heading leads somewhere', (t) => {
  const broken: string[] = [];
  let count = 0;
  for (const [page, text] of PROSE) {
    for (const link of linksOf(text)) {
      if (/^[a-z]+:/.test(link)) continue;
      count += 1;
      const [path = '', anchor = ''] = link.split('#', 2);
      const target = path === '' ? page : relative(ROOT, resolve(ROOT, dirname(page), path));
      const there = existsSync(join(ROOT, target));
      if (!there || (anchor !== '' && !anchorsOf(read(target)).has(anchor)))
        broken.push(`${page} -> ${link}`);
    }
  }
  t.same(broken, []);
  t.ok(count > 40, 'links were really found');
  t.end();
});

t.test('every source file that a page names is there', (t) => {
  const unknown: string[] = [];
  let count = 0;
  for (const [page, text] of PROSE) {
    if (/^CHANGELOG|^docs\/decisions/.test(page)) continue; // of their time
    for (const [, path = ''] of text.matchAll(/`([\w-]+(?:\/[\w.-]+)+\.(?:[jt]s|yaml|json|cfg))`/g)) {
      count += 1;
      const folders = ['.', 'proxy', dirname(page)];
      if (!folders.some((folder) => existsSync(join(ROOT, folder, path)))) unknown.push(`${page}: ${path}`);
    }
  }
  t.ok(count > 100, 'files were really found');
  t.same(unknown, []);
  t.end();
});

t.test('every page is on the documentation site, once', (t) => {
  const named = NAVIGATION.flatMap(({ pages }) => pages);
  const isNamed = (page: string): boolean =>
    named.some((one) => one === page || (one.endsWith('/') && dirname(page) === one.slice(0, -1)));
  const pages = PAGES.filter((page) => page.startsWith('docs/'));
  t.ok(pages.length > 40);
  t.same(
    pages.filter((page) => !isNamed(page)),
    [],
  );
  t.same(
    named.filter((page) => !existsSync(join(ROOT, page))),
    [],
  );
  t.equal(new Set(named).size, named.length);
  t.end();
});

t.test('the picture of the folders has each of them', (t) => {
  const picture = read('docs/images/layers.svg');
  const names = [...read('docs/layers.md').matchAll(/^\| (`[^|]*`) +\|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`(?:proxy\/)?(\w[\w-]*)\/`/g)].map(([, name = '']) => name),
  );
  t.ok(names.length > 15);
  t.same(
    names.filter((name) => !picture.includes(`${name}/`)),
    [],
  );
  t.end();
});

t.test('every path in the route table is named in docs/endpoints.md', (t) => {
  const files = ['route-table.ts', 'access/key-routes.ts', 'access/team-routes.ts'];
  const all = files.map((file) => read(`proxy/api/${file}`)).join('\n');
  const source = all.replaceAll(/^\s*\/\/.*$|^\s*\*.*$/gm, '');
  const literals = [...source.matchAll(/'(\/[^']*)'/g)].map(([, path = '']) => path);
  const templates = [...source.matchAll(/`\$\{base\}(\/[a-z/]+)/g)].map(([, path = '']) => path);
  const paths = [...literals, ...templates].filter((path) => !path.startsWith('/$'));
  t.ok(paths.length > 20, 'paths were really found');
  t.same(
    paths.filter((path) => !ENDPOINTS_PAGE.includes(path)),
    [],
  );
  t.end();
});

t.test('every LLM endpoint stands in docs/endpoints.md with its call type, and no other does', (t) => {
  const documented = [
    ...ENDPOINTS_PAGE.matchAll(
      /^\| `([a-zA-Z_/{}:]+)`[^|]*\| `(a[a-z_]+)` *\| (JSON|multipart or JSON) *\|$/gm,
    ),
  ];
  t.same(
    documented.map(([, path, callType, body]) => `${path} ${callType} ${body}`),
    ENDPOINTS.map(
      ({ path, callType, body }) => `${path} ${callType} ${body === 'form' ? 'multipart or JSON' : 'JSON'}`,
    ),
  );
  const byId = [
    ...ENDPOINTS_PAGE.matchAll(/^\| `([A-Z]+) \/v1\/responses\/\{id\}([a-z_/]*)` *\| `([a-z_]+)` *\|$/gm),
  ];
  t.same(
    byId.map(([, method, suffix, callType]) => `${method} ${suffix} ${callType}`),
    BY_ID.map(({ method, suffix, endpoint }) => `${method} ${suffix} ${endpoint.callType}`),
  );
  t.end();
});

t.test('the proxy serves every route that docs/endpoints.md names', async (t) => {
  const rig = await startRig(t);
  const named = [...ENDPOINTS_PAGE.matchAll(/`(GET|POST|DELETE) (\/[^`\s]+)`/g)].map(
    ([, method = '', path = '']) => [method, path.replaceAll(/\{\w+\}/g, 'some-id')] as const,
  );
  const bases = [
    '/v1/',
    '/',
    '//v1/',
    '/v1/v1/',
    '/openai/v1/',
    '/openai/deployments/m/',
    '/engines/m/',
    '/v1/engines/m/',
  ];
  const inBody = ENDPOINTS.filter(({ path }) => !path.includes('{model}'));
  const calls = bases.flatMap((base) => inBody.map(({ path }) => ['POST', `${base}${path}`] as const));
  t.ok(named.length > 20, 'routes were really found');
  const unknown: string[] = [];
  for (const [method, path] of [...named, ...calls]) {
    const asked = path === '/spend/rows/live' ? `${path}?status=refused-here` : path; // its answer has no end
    const { text } = await send(rig.url, method, asked, method === 'POST' ? {} : undefined);
    if (/"code":"(route_not_found|method_not_allowed)"/.test(text)) unknown.push(`${method} ${path}`);
  }
  t.same(unknown, []);
});

t.test('docs/operating.md names every file of the data directory', async (t) => {
  const rig = await startRig(t, {
    config: (demo) => `${defaultConfig(demo)}  capsules: {}\nbrake: { mode: enforce }\n`,
  });
  const [, tree = ''] = /\n```\ndata\/ ([^]*?)\n```/.exec(read('docs/operating.md')) ?? [];
  const named = [...tree.matchAll(/^ {2}([\w.-]+)/gm)].map(([, name = '']) => name);
  t.ok(named.length > 8, 'files were really found');
  const files = readdirSync(join(rig.folder, 'data')).map((name) => name.replace(/-(?:wal|shm)$/, ''));
  t.ok(files.includes('brake.db'));
  t.same(
    files.filter((name) => !named.includes(name)),
    [],
  );
});

t.test('docs/spend.md names every column of an export', (t) => {
  const page = read('docs/spend.md');
  t.same(
    ROW_COLUMNS.map(({ name }) => name).filter((name) => !page.includes(`\`${name}\``)),
    [],
  );
  t.end();
});

t.test('docs/identity.md names every header that the proxy adds to a response', async (t) => {
  const rig = await startRig(t);
  const answers = [await chat(rig, 'demo'), await chat(rig, 'nobody-serves-this')];
  const names = answers
    .flatMap(({ headers }) => Object.keys(headers))
    .filter((name) => name.startsWith('x-'));
  const [, page = ''] = read('docs/identity.md').split('\n## Response headers\n');
  t.ok(names.length > 8, 'headers were really found');
  t.same(
    names.filter((name) => !page.includes(`\`${name}\``)),
    [],
  );
});

t.test('docs/operating.md explains every metric, and none that is not there', (t) => {
  const files = readdirSync(join(ROOT, 'proxy/observability')).filter((name) =>
    /^(?:.*metrics|worker-figures)\.ts$/.test(name),
  );
  const source = new Set(
    files.flatMap(
      (name) => read(`proxy/observability/${name}`).match(/(?<=')throughline_[a-z_]+(?=')/g) ?? [],
    ),
  );
  const table = read('docs/operating.md').match(/^\| `throughline_[^|]*\|/gm) ?? [];
  const explained = new Set(table.join('').match(/throughline_[a-z_]+/g));
  t.same([...explained].sort(), [...source].sort());
  t.end();
});

t.test('every end of a request is in the table of ends', (t) => {
  const union = /export type EndReason =([^;]*);/.exec(
    read('proxy/spend/record/record.ts').replaceAll(/ \/\/.*$/gm, ''),
  );
  const reasons = [...(union?.[1] ?? '').matchAll(/'([a-z_]+)'/g)].map(([, reason = '']) => reason);
  t.ok(reasons.length > 5, 'reasons were really found');
  const page = read('docs/life-of-a-request.md');
  t.same(
    reasons.filter((reason) => !new RegExp(`^\\|[^|]*\\|[^|]*\\| \`${reason}\``, 'm').test(page)),
    [],
  );
  t.end();
});

t.test('every npm script and subcommand that a page names is there', async (t) => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Readonly<Record<string, string>> };
  const usages = await helpOfAll();
  const commands = [...usages.keys()].filter(Boolean).toSorted((a, b) => b.length - a.length);
  const unknown: string[] = [];
  for (const [page, text] of [...PROSE, ['.ci/run', read('.ci/run')] as const]) {
    for (const [, script = ''] of text.matchAll(/\bnpm run ([\w:-]+)/g)) {
      if (!Object.hasOwn(scripts, script)) unknown.push(`${page}: npm run ${script}`);
    }
    for (const [line, command = ''] of text
      .replaceAll('\\\n', ' ')
      .matchAll(new RegExp(`\\bthroughline (${commands.join('|')})\\b[^\\n\`]*`, 'g'))) {
      const flags = line.match(/(?<![\w-])--[a-z-]+/g) ?? [];
      const known = `${usages.get(command)} --help`;
      unknown.push(
        ...flags.filter((flag) => !known.includes(flag)).map((flag) => `${page}: ${command} ${flag}`),
      );
    }
    for (const [, command = ''] of text.matchAll(/\bnpx throughline ([a-z-]+)/g)) {
      if (!usages.has(command)) unknown.push(`${page}: throughline ${command}`);
    }
  }
  t.same(unknown, []);
});

t.test('the YAML of examples has no key that the configuration or the chart does not know', async (t) => {
  const schema = JSON.parse(read('charts/throughline/values.schema.json')) as Record<string, object>;
  const chart = new Ajv({ strict: false, allErrors: true, validateFormats: false }).compile(schema);
  const { properties } = JSON.parse(read('schemas/gateway.json')) as { properties: object };
  const folder = t.testdir();
  const unknown: string[] = [];
  let count = 0;
  for (const [page, text] of PROSE) {
    for (const [, yaml = ''] of text.matchAll(/^```yaml\n([^]*?)^```/gm)) {
      const example: unknown = parse(yaml);
      if (typeof example !== 'object' || example === null || Array.isArray(example)) continue;
      const keys = Object.keys(example);
      if (keys.every((key) => Object.hasOwn(properties, key))) {
        writeFileSync(join(folder, 'gateway.yaml'), yaml);
        const loaded = loadConfig(join(folder, 'gateway.yaml'), {});
        const issues = loaded.ok ? [] : loaded.issues.filter(({ message }) => message === 'unknown key');
        unknown.push(...issues.map((issue) => `${page}: ${formatIssue(issue)}`));
      } else if (/kubernetes\.md|^charts/.test(page) && !Object.hasOwn(example, 'dependencies')) {
        chart(example);
        const faults = (chart.errors ?? []).filter(({ keyword }) => keyword !== 'required'); // of what stands above it
        unknown.push(...faults.map((fault) => `${page}: ${fault.instancePath} ${fault.message}`));
      } else continue;
      count += 1;
    }
  }
  t.ok(count > 30, 'examples were really found');
  t.same(unknown, []);
});

t.test('docs/command-line.md names every command, those of a group too', async (t) => {
  const [table = ''] = read('docs/command-line.md').split('\n## ');
  const named = [...table.matchAll(/`([^`]+)`/g)].flatMap(([, code = '']) => {
    const [group = '', words] = code.replaceAll('\\|', '|').split(' ');
    return words?.includes('|') === true
      ? [group, ...words.split('|').map((word) => `${group} ${word}`)]
      : [group, `${group} ${words}`];
  });
  const all = [...(await helpOfAll()).keys()].filter(Boolean);
  t.same(
    all.filter((name) => !named.includes(name)),
    [],
  );
});

t.test('no file names a path of the machine it was written on, or a package registry', (t) => {
  const foreign = [
    new RegExp(`(?<![\\w.-])/${'work'}/(?!-)`), // in two pieces, or this line would find itself
    /(?<![\w.-])\/(?:home|Users)\/(?!openhands\/workspace)\w+\//, // the platform's documented default
    /\bregistry\.(?!example\.)[a-z0-9-]+\.[a-z]/,
    /\b(?:npmmirror|artifactory|verdaccio|pypi)\.[a-z]/,
  ];
  const found = FILES.filter(
    (path) => !/\.(?:png|gz|db)$/.test(path) && path !== 'package-lock.json',
  ).flatMap((path) => {
    const text = read(path);
    return foreign.filter((one) => one.test(text)).map((one) => `${path}: ${one.exec(text)?.[0]}`);
  });
  t.same(found, []);
  t.end();
});
