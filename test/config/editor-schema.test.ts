// What an editor says of a file as it is written: nothing of what the loader takes.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import t from 'tap';
import { parse } from 'yaml';
import { editorSchema } from '../../config/editor-schema.ts';
import { isInert, SCHEMA, typesOf, type SchemaNode } from '../../config/schema.ts';

const ROOT = join(import.meta.dirname, '../..');
const SAMPLES = join(ROOT, 'config', 'samples');
const ajv = new Ajv2020({ strict: false, allErrors: true });
const file = ajv.compile(JSON.parse(readFileSync(join(ROOT, 'schemas/editor.json'), 'utf8')) as object);

const faults = (yaml: string): readonly string[] =>
  file(parse(yaml, { merge: true }))
    ? []
    : (file.errors ?? []).map((error) => `${error.instancePath} ${error.keyword}`);

t.test('every sample is right', async (t) => {
  const names = readdirSync(SAMPLES);
  t.ok(names.length > 5);
  for (const name of names) t.same(faults(readFileSync(join(SAMPLES, name), 'utf8')), [], name);
  t.same(faults(readFileSync(join(ROOT, 'deploy/compose/config/config.yaml'), 'utf8')), []);
});

t.test('a reference may stand for each value, and its neighbours are still checked', async (t) => {
  let count = 0;
  const visit = (schema: SchemaNode, path: string): void => {
    if (isInert(schema)) return;
    for (const [key, inner] of Object.entries(schema.properties ?? {})) visit(inner, `${path}.${key}`);
    if (schema.items !== undefined) visit(schema.items, `${path}[]`);
    if (typeof schema.additionalProperties === 'object') visit(schema.additionalProperties, `${path}.*`);
    const types = typesOf(schema);
    if (types.length === 0 || types.includes('object') || types.includes('array')) return;
    count += 1;
    const takes = ajv.compile(editorSchema(schema));
    t.ok(takes('os.environ/NAME'), path);
    if (!types.includes('string')) t.notOk(takes('some text'), path);
  };
  visit(SCHEMA, '');
  t.ok(count > 400);
});

t.test('what the loader refuses is underlined', async (t) => {
  t.same(faults('router_settings: {redis_port: many}'), ['/router_settings/redis_port pattern']);
  t.same(faults('router_settings: {redis_prot: 1}'), ['/router_settings additionalProperties']);
  t.same(faults('general_settings: {master_key: }'), ['/general_settings/master_key type']);
  t.same(faults('brake: {mode: }'), ['/brake/mode type']);
  t.same(faults('general_settings: {database_url: , otel: true, unknown_keys: os.environ/MODE}'), []);
  t.ok(faults('general_settings: {unknown_keys: perhaps}').length > 0);
  t.same(faults('model_list: [{model_name: , litellm_params: {model: openai/a}}]'), [
    '/model_list/0/model_name type',
  ]);
});
