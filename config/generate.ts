// Generates four files from the schema: the types of a validated configuration, what checks it, what editors check a file with
// and the reference page; and the page of the kinds of upstream. With --check it
// writes nothing and fails when a file is stale. Runs in development only; nothing imports it.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { documentation } from './documentation.ts';
import { editorSchema } from './editor-schema.ts';
import { providersPage } from './providers-page.ts';
import { isInert, SCHEMA, type SchemaNode } from './schema.ts';
import { validatorSource } from './validator-source.ts';

const HEAD = `// Types of a configuration file after validation: every key that has a default is there. Generated from
// schemas/gateway.json by \`node config/generate.ts\`; never edit by hand.
`;

/** Keys without effect are removed before use, and keys with a default are always present. */
function typed(schema: SchemaNode): Record<string, unknown> {
  const { properties, items, examples: _examples, ...rest } = schema;
  const kept = Object.entries(properties ?? {}).filter(([, inner]) => !isInert(inner));
  const filled = kept.filter(([, inner]) => inner.default !== undefined).map(([key]) => key);
  return {
    ...rest,
    ...(items === undefined ? {} : { items: typed(items) }),
    ...(properties === undefined
      ? {}
      : { properties: Object.fromEntries(kept.map(([k, v]) => [k, typed(v)])) }),
    required: [...(schema.required ?? []), ...filled],
  };
}

/** Formatted with the repository's own settings, so that a fresh file passes both checks. */
async function types(path: string): Promise<string> {
  const prettier = await import('prettier');
  const { compile } = await import('json-schema-to-typescript');
  const text = await compile(typed(SCHEMA), 'GatewayFile', { bannerComment: HEAD, format: false });
  return prettier.format(text, { ...(await prettier.resolveConfig(path)), filepath: path });
}

const pathOf = (name: string): string => fileURLToPath(new URL(`../${name}`, import.meta.url));

async function formatted(name: string, text: string): Promise<string> {
  const prettier = await import('prettier');
  const path = pathOf(name);
  return prettier.format(text, { ...(await prettier.resolveConfig(path)), filepath: path });
}

const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } });
const outputs: readonly (readonly [name: string, text: string])[] = [
  ['config/gateway-file.ts', await types(pathOf('config/gateway-file.ts'))],
  ['config/gateway-validator.js', validatorSource(SCHEMA)],
  ['docs/configuration.md', documentation(SCHEMA)],
  ['docs/providers.md', await formatted('docs/providers.md', providersPage())],
  ['schemas/editor.json', await formatted('schemas/editor.json', JSON.stringify(editorSchema(SCHEMA)))],
];
for (const [name, text] of outputs) {
  const path = pathOf(name);
  if (!values.check) writeFileSync(path, text);
  else if (readFileSync(path, 'utf8') !== text) {
    process.stderr.write(`${name} is stale - run: node config/generate.ts\n`);
    process.exitCode = 1;
  }
}
