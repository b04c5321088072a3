// The architecture, as a test: reads every import of the source and fails on an upward one, a cycle, a third-party
// package outside its owner's folder, a file that is too long, and state that lives in a module.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import t from 'tap';

const ROOT = resolve(import.meta.dirname, '../..');

/** Folders from left to right; a file may import from its own folder and from those further left. */
const LAYERS: readonly (readonly string[])[] = [
  ['schemas'],
  ['config'],
  ['proxy/base'],
  ['proxy/errors'],
  ['proxy/bodies', 'proxy/headers'],
  ['proxy/protocols'],
  ['proxy/routing', 'proxy/spend'],
  ['proxy/observability'],
  ['proxy/items'],
  ['proxy/access'],
  ['proxy/downstream', 'proxy/upstream'],
  ['proxy/doctor'],
  ['proxy/relay'],
  ['proxy/active-config'],
  ['proxy/pipeline'],
  ['proxy/api'],
  ['proxy/server'],
  ['proxy/cluster'],
  ['proxy/cli'],
  ['proxy/main.ts'],
];
/** Stands beside the proxy: only the command line may know it, and it knows nothing of the proxy. */
const DEMO_GATEWAY = 'proxy/demo-gateway';

/** What is mounted on the proxy's server reaches it through one file; its worker threads load the leaves alone. */
const PLATFORM = 'platform';
const PLATFORM_MAY_USE = ['schemas', 'config', 'proxy/base', 'proxy/server/mount.ts'];
const MAY_USE_PLATFORM = ['proxy/server/open-platform.ts', 'proxy/cli'];

/** The operators' page: it meets the proxy in HTTP alone. From left to right; `app/pages.ts` fetches pages by name. */
const CONSOLE = 'console';
const CONSOLE_LAYERS: readonly (readonly string[])[] = [
  ['console/base', 'console/text', 'console/api', 'console/format'],
  ['console/ui'],
  ['console/app'],
  ['console/pages'],
];
const REGISTRY = 'console/app/pages.ts';

const OWNERS: Readonly<Record<string, readonly string[]>> = {
  yaml: ['config'],
  'temporal-polyfill': ['proxy/access/durations.ts'],
  ajv: ['config', 'platform/api/validation.ts'],
  '@pydantic/genai-prices': ['config'],
  'json-schema-to-typescript': ['config/generate.ts'],
  prettier: ['config/generate.ts', 'proxy/api/openapi/generate.ts'],
  undici: ['proxy/upstream'],
  pino: ['proxy/observability'],
  'prom-client': ['proxy/observability'],
  '@opentelemetry/api': ['proxy/observability/span-worker.ts'],
  '@opentelemetry/exporter-trace-otlp-proto': ['proxy/observability/span-worker.ts'],
  '@opentelemetry/resources': ['proxy/observability/span-worker.ts'],
  '@opentelemetry/sdk-trace': ['proxy/observability/span-worker.ts'],
  'node:sqlite': ['proxy/spend/store', 'proxy/items'],
  pg: ['proxy/spend/store/postgres'],
  '@redis/client': ['proxy/access/valkey/connection.ts'],
  'gpt-tokenizer': ['proxy/spend/estimate'],
  'hyparquet-writer': ['proxy/spend/report'],
  'csv-parse': ['proxy/spend/report'],
  'csv-stringify': ['proxy/spend/report'],
  commander: ['proxy/cli', 'proxy/main.ts'],
  '@commander-js/extra-typings': ['proxy/cli', 'proxy/main.ts'],
  '@bomb.sh/tab': ['proxy/cli'],
  'openid-client': ['proxy/api/console/oidc-client.ts'],
};

/** As long as the schema has keys. */
const GENERATED = 'config/gateway-file.ts';
/** The one file of JavaScript: what ajv made of the schema. */
const VALIDATOR = 'config/gateway-validator.js';

function filesBelow(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)));
}

const FILES = [...filesBelow('config'), ...filesBelow('proxy'), ...filesBelow(PLATFORM)];
const TEXT = new Map(FILES.map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]));

interface Import {
  readonly from: string;
  readonly to: string;
  readonly typeOnly: boolean;
}

function importsOf(file: string, text: string): Import[] {
  const found = [...text.matchAll(/^(?:import|export)\s+(type\s)?(?:[^'";]*?from\s+)?'([^']+)'/gm)];
  const dynamic = [...text.matchAll(/\bimport\('([^']+)'\)/g)].map((match) => ['', '', match[1]] as const);
  return [...found.map((match) => [match[0], match[1], match[2]] as const), ...dynamic].map(
    ([, type, to]) => ({
      from: file,
      to: to?.startsWith('.') === true ? relative(ROOT, resolve(ROOT, dirname(file), to)) : (to as string),
      typeOnly: type !== undefined && type !== '',
    }),
  );
}

const CONSOLE_FILES = readdirSync(join(ROOT, CONSOLE), { recursive: true, encoding: 'utf8' })
  .map((file) => `${CONSOLE}/${file.replaceAll('\\', '/')}`)
  .filter((file) => /\.tsx?$/.test(file) && !/^console\/(?:node_modules|dist)\//.test(file));
const CONSOLE_TEXT = new Map(CONSOLE_FILES.map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]));

const IMPORTS = [...TEXT].flatMap(([file, text]) => importsOf(file, text));
const within = (file: string, place: string): boolean => file === place || file.startsWith(`${place}/`);
const layerOf = (file: string): number =>
  LAYERS.findIndex((layer) => layer.some((place) => within(file, place)));

t.test('every file belongs to a layer', (t) => {
  t.same(
    FILES.filter((file) => layerOf(file) < 0 && !within(file, DEMO_GATEWAY) && !within(file, PLATFORM)),
    [],
  );
  t.ok(FILES.length > 60, 'the folders were really read');
  t.end();
});

t.test('imports point one way, type imports too', (t) => {
  const upward = IMPORTS.filter(({ from, to }) => {
    if (!to.includes('/') || to.startsWith('node:') || to.startsWith('@') || !TEXT.has(to)) return false;
    if (within(from, PLATFORM) || within(to, PLATFORM)) return false; // see below
    if (within(from, DEMO_GATEWAY) || within(to, DEMO_GATEWAY)) {
      return !(within(from, DEMO_GATEWAY) && within(to, DEMO_GATEWAY)) && !within(from, 'proxy/cli');
    }
    const [a, b] = [layerOf(from), layerOf(to)];
    if (a !== b) return b > a;
    const place = LAYERS[a]?.find((one) => within(from, one));
    return place !== undefined && !within(to, place); // neighbours in one layer do not know each other
  });
  t.same(
    upward.map(({ from, to }) => `${from} -> ${to}`),
    [],
  );
  t.end();
});

t.test(
  'the console imports nothing of the proxy, no page knows another, and its parts point one way',
  (t) => {
    const consoleLayer = (file: string): number =>
      CONSOLE_LAYERS.findIndex((layer) => layer.some((place) => within(file, place)));
    const pageOf = (file: string): string | undefined => /^console\/pages\/([^/]+)/.exec(file)?.[1];
    const wrong = [...CONSOLE_TEXT]
      .flatMap(([file, text]) => importsOf(file, text))
      .filter(({ from, to }) => {
        if (!within(to, CONSOLE)) return layerOf(to) >= 0 || within(to, PLATFORM);
        if (from === REGISTRY && pageOf(to) !== undefined) return false;
        if (consoleLayer(from) < 0) return false; // what begins it all
        if (pageOf(from) !== undefined && pageOf(to) !== undefined) return pageOf(from) !== pageOf(to);
        return consoleLayer(to) > consoleLayer(from);
      });
    t.same(
      wrong.map(({ from, to }) => `${from} -> ${to}`),
      [],
    );
    t.same(
      CONSOLE_FILES.filter((file) => (CONSOLE_TEXT.get(file) ?? '').split('\n').length > 400),
      [],
    );
    t.ok(CONSOLE_FILES.length > 40, 'the folder was really read');
    t.end();
  },
);

t.test('the platform interface and the proxy meet in one file each', (t) => {
  const beyond = IMPORTS.filter(
    ({ from, to }) =>
      within(from, PLATFORM) &&
      (TEXT.has(to) || to.startsWith('schemas/')) &&
      ![PLATFORM, ...PLATFORM_MAY_USE].some((place) => within(to, place)),
  );
  t.same(
    beyond.map(({ from, to }) => `${from} -> ${to}`),
    [],
  );
  const others = IMPORTS.filter(
    ({ from, to }) =>
      within(to, PLATFORM) &&
      !within(from, PLATFORM) &&
      !MAY_USE_PLATFORM.some((place) => within(from, place)),
  );
  t.same(
    others.map(({ from, to }) => `${from} -> ${to}`),
    [],
  );
  t.end();
});

t.test('no import leads back to where it came from', (t) => {
  const next = new Map(FILES.map((file) => [file, [] as string[]]));
  for (const { from, to } of IMPORTS) if (TEXT.has(to)) next.get(from)?.push(to);
  const done = new Set<string>();
  const cycles: string[] = [];
  const walk = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) {
      cycles.push([...path.slice(path.indexOf(file)), file].join(' -> '));
      return;
    }
    if (done.has(file)) return;
    for (const to of next.get(file) ?? []) walk(to, [...path, file]);
    done.add(file);
  };
  for (const file of FILES) walk(file, []);
  t.same(cycles, []);
  t.end();
});

t.test('a third-party package is imported by its owner only', (t) => {
  const packageOf = (name: string): string => {
    if (name.startsWith('node:')) return name;
    const parts = name.split('/');
    return name.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] as string);
  };
  const strangers = IMPORTS.filter(({ from, to }) => {
    if (TEXT.has(to) || to.endsWith('.json') || to === VALIDATOR) return false;
    const name = packageOf(to);
    if (name.startsWith('node:') && OWNERS[name] === undefined) return false;
    return !(OWNERS[name] ?? []).some((owner) => within(from, owner));
  });
  t.same(
    strangers.map(({ from, to }) => `${from} imports ${to}`),
    [],
  );
  t.end();
});

t.test('no file is longer than 400 lines', (t) => {
  const long = [...TEXT]
    .filter(([file, text]) => file !== GENERATED && text.split('\n').length > 400)
    .map(([file]) => file);
  t.same(long, []);
  t.end();
});

t.test('no module keeps state: no let, and no empty collection at the top level', (t) => {
  const found = [...TEXT].flatMap(([file, text]) =>
    text
      .split('\n')
      .filter((line) =>
        /^(?:export )?(?:let |const \w+(?:: [^=]+)? = (?:new (?:Map|Set|WeakMap)(?:<[^(]*>)?\(\)|\[\];))/.test(
          line,
        ),
      )
      .map((line) => `${file}: ${line}`),
  );
  t.same(found, []);
  t.end();
});

t.test('only proxy/protocols asks which protocol it has', (t) => {
  // `protocol === 'https:'` is a URL's.
  const asks =
    /\b(?:family|protocol\??\.name|callType) *[!=]==|\bprotocol *[!=]== *\w|switch \(.*(?:family|protocol|callType)\)/i;
  for (const line of [
    "if (call.protocol.name === 'chat')",
    'if (protocol !== chat)',
    'switch (one.family) {',
  ])
    t.match(line, asks, 'the pattern finds what it is for');
  const found = [...TEXT].flatMap(([file, text]) =>
    /^(?:proxy\/protocols|proxy\/demo-gateway|platform|config)\//.test(file)
      ? []
      : text
          .split('\n')
          .filter((line) => asks.test(line))
          .map((line) => `${file}: ${line.trim()}`),
  );
  t.same(found, []);
  t.end();
});

t.test('only main.ts touches the environment and ends the process', (t) => {
  const found = [...TEXT]
    .filter(([file]) => file !== 'proxy/main.ts')
    .filter(([, text]) => /\bprocess\.(?:env|exit|argv)\b/.test(text))
    .map(([file]) => file);
  t.same(found, []);
  t.end();
});
