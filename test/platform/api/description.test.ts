// The interface's own description, held against the platform's: what differs is listed here and argued in
// docs/platform-differences.md, so that a difference can neither creep in nor be forgotten.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import t from 'tap';
import { description, published } from '../../../platform/api/description.ts';
import { at, startPlatform } from '../fixture/rig.ts';

type Tree = Readonly<Record<string, unknown>>;
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Tree>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Tree>>; readonly securitySchemes: Tree };
}

const read = (name: string): Document =>
  JSON.parse(readFileSync(join(import.meta.dirname, '../fixture', name), 'utf8')) as Document;
/** What else of the platform's descriptions is held against ours: a file of `openapi/` per subject. */
function withSubjects(version: string): Document {
  const files = readdirSync(join(import.meta.dirname, '../fixture/openapi'));
  return files
    .filter((name) => name.startsWith(`${version}-`))
    .map((name) => read(`openapi/${name}`))
    .reduce(
      (all, { paths, components: { schemas } }) => ({
        paths: { ...all.paths, ...paths },
        components: { ...all.components, schemas: { ...schemas, ...all.components.schemas } },
      }),
      read(`openapi-${version}.json`),
    );
}
const V0 = withSubjects('v0');
const V1 = withSubjects('v1');
const DOCS = readFileSync(join(import.meta.dirname, '../../../docs/platform-differences.md'), 'utf8');
const PUBLISHED = published(description());
const OURS = PUBLISHED.all as unknown as Document;

/** The platform's names of schemas, as they read here. */
const NAMES: Readonly<Record<string, string>> = {
  'AppConversationStartRequest-Input': 'AppConversationStartRequest',
  'AppConversationStartRequest-Output': 'AppConversationStartRequest',
  'UserSecrets-Input': 'UserSecrets',
  'UserSecrets-Output': 'UserSecretsOutput',
};
const V0_NAMES: Readonly<Record<string, string>> = {
  ...NAMES,
  GETSettingsModel: 'GETSettingsModelV0',
  ProviderType: 'ProviderTypeV0',
};

function nameIn(names: Readonly<Record<string, string>>, ref: string): string {
  const name =
    ref
      .split('/')
      .at(-1)
      ?.replace(/^openhands__app_server__settings__settings_\w+?__/, '') ?? '';
  return names[name] ?? name;
}

/** A schema as one line: what is compared of it. Titles, descriptions and examples are no part of a contract. */
function line(schema: unknown, names: Readonly<Record<string, string>>): string {
  if (typeof schema !== 'object' || schema === null) return JSON.stringify(schema);
  if (Array.isArray(schema)) return `[${schema.map((one) => line(one, names)).join(',')}]`;
  const tree = schema as Tree;
  if (typeof tree['$ref'] === 'string') return `@${nameIn(names, tree['$ref'])}`;
  const skipped = new Set(['title', 'description', 'examples', 'example', 'deprecated', 'discriminator']);
  const parts = Object.entries(tree)
    .filter(([key, value]) => !(skipped.has(key) && typeof value !== 'object'))
    .filter(([key]) => key !== 'examples' && key !== 'discriminator')
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}:${line(value, names)}`);
  return `{${parts.join(',')}}`;
}

/** One line per difference of two descriptions, theirs first. */
function differences(theirs: Document, names: Readonly<Record<string, string>>): string[] {
  const found: string[] = [];
  const compare = (what: string, a: unknown, b: unknown): void => {
    if (line(a, names) !== line(b, names)) found.push(what);
  };
  const schemas = new Set<string>();
  const collect = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const ref = (value as Tree)['$ref'];
    if (typeof ref === 'string') {
      const name = ref.split('/').at(-1) ?? '';
      if (schemas.has(name)) return;
      schemas.add(name);
      collect(theirs.components.schemas[name]);
    }
    for (const inner of Object.values(value)) collect(inner);
  };
  for (const [path, operations] of Object.entries(theirs.paths)) {
    for (const [method, theirsOp] of Object.entries(operations)) {
      const at = `${method.toUpperCase()} ${path}`;
      const ours = OURS.paths[path]?.[method];
      if (ours === undefined) {
        found.push(`${at} is not served`);
        continue;
      }
      collect(theirsOp);
      const byName = (list: unknown): Tree =>
        Object.fromEntries(
          ((list ?? []) as Tree[]).map((one) => [`${String(one['in'])} ${String(one['name'])}`, one]),
        );
      const [a, b] = [byName(theirsOp['parameters']), byName(ours['parameters'])];
      for (const name of new Set([...Object.keys(a), ...Object.keys(b)]))
        compare(`${at} parameter ${name}`, a[name], b[name]);
      compare(`${at} operation id`, theirsOp['operationId'], ours['operationId']);
      compare(`${at} body`, theirsOp['requestBody'], ours['requestBody']);
      for (const [status, response] of Object.entries(theirsOp['responses'] as Tree))
        compare(
          `${at} answer ${status}`,
          (response as Tree)['content'],
          ((ours['responses'] as Tree)[status] as Tree | undefined)?.['content'],
        );
    }
  }
  for (const name of schemas) {
    const [a, b] = [theirs.components.schemas[name], OURS.components.schemas[nameIn(names, name)]];
    if (b === undefined) {
      found.push(`schema ${name} is not there`);
      continue;
    }
    const [mine, other] = [b['properties'] as Tree | undefined, a?.['properties'] as Tree | undefined];
    for (const member of new Set([...Object.keys(other ?? {}), ...Object.keys(mine ?? {})]))
      compare(`schema ${nameIn(names, name)}.${member}`, other?.[member], mine?.[member]);
    compare(`schema ${nameIn(names, name)} required`, a?.['required'], b['required']);
    compare(`schema ${nameIn(names, name)} enum`, a?.['enum'], b['enum']);
  }
  return [...new Set(found)].sort();
}

t.test('the legacy interface is described as the platform describes it', async (t) => {
  const newer = ['schema ValidationError.ctx', 'schema ValidationError.input']; // optional members that V1 added
  t.same(differences(V0, V0_NAMES), newer);
});

t.test('every difference to the platform is known, and argued in docs/platform-differences.md', async (t) => {
  const found = differences(V1, NAMES);
  const listed = [...DOCS.matchAll(/^- `([^`]+)`: \S/gm)].map(([, what = '']) => what);
  t.same(found, listed.sort());
});

t.test('the description is a valid one, and every schema in it can be compiled', async (t) => {
  const ajv = new Ajv2020({
    strict: false,
    formats: { uuid: true, 'date-time': true, password: true, path: true },
  });
  ajv.addSchema({ $id: 'platform', components: OURS.components });
  for (const name of Object.keys(OURS.components.schemas))
    t.doesNotThrow(() => ajv.compile({ $ref: `platform#/components/schemas/${name}` }), name);
  const ids = Object.values(OURS.paths).flatMap((one) =>
    Object.values(one).map(({ operationId }) => operationId),
  );
  t.equal(new Set(ids).size, ids.length, 'each operation has a name of its own');
  t.same(OURS.components.securitySchemes['APIKeyHeader'], {
    type: 'apiKey',
    in: 'header',
    name: 'X-Session-API-Key',
  });
});

t.test('V0 reads under its own version and servers, V1 has a document of its own', async (t) => {
  const rig = await startPlatform(t);
  const all = await rig.api('GET', '/api/openapi.json');
  t.match(all.json, {
    info: { version: '0.53.0' },
    servers: [{ url: 'https://app.all-hands.dev' }, { url: 'http://localhost:3000' }],
  });
  const paths = at(all, 'paths') as Document['paths'];
  t.equal(paths['/api/settings']?.['post']?.['operationId'], 'store_settings_api_settings_post');
  t.notMatch(all.text, /x-handler/, 'names of our functions are not published');
  const v1 = await rig.api('GET', '/api/v1/openapi.json');
  t.match(v1.json, { openapi: '3.1.0', info: { version: '0.0.1' } });
  t.equal((v1.json as Tree)['servers'], undefined);
  for (const path of Object.keys(at(v1, 'paths') as object)) t.match(path, /^\/api\/v1\//);
  t.same(at(v1, 'components'), at(all, 'components'));
});

t.test('it is served to who has a key, and nothing below /api is served to others', async (t) => {
  const rig = await startPlatform(t);
  t.same((await rig.api('GET', '/api/openapi.json')).json, JSON.parse(JSON.stringify(OURS)));
  for (const [path, operations] of Object.entries(OURS.paths)) {
    for (const method of Object.keys(operations)) {
      const url = path.replaceAll(/\{\w+\}/g, 'a');
      for (const key of [null, 'another-key']) {
        const response = await rig.api(
          method.toUpperCase(),
          url,
          method === 'get' || method === 'delete' ? undefined : {},
          key,
        );
        t.equal(response.status, 401, `${method} ${path}`);
        t.same(response.json, { detail: 'Unauthorized' });
      }
    }
  }
  t.same((await rig.api('GET', '/api/nothing')).json, { detail: 'Not Found' });
  const wrong = await rig.api('DELETE', '/api/settings');
  t.equal(wrong.status, 405);
  t.equal(wrong.headers['allow'], 'GET, POST');
});
