// The source of config/gateway-validator.js: ajv's own code for the schema, made when the schema changes, because
// compiling it takes 140 ms of CPU at each start and the finished code 8 ms. Runs in development only.
import { Ajv } from 'ajv';
import standalone from 'ajv/dist/standalone/index.js';
import { isInert, type SchemaNode } from './schema.ts';

const HEAD = `// Checks a configuration file and fills in its defaults. Generated from schemas/gateway.json by
// \`node config/generate.ts\`; never edit by hand.
`;

/** Neither checked nor a default: what people and other parts of this folder read. */
const OTHER_WORDS = new Set([
  '$schema',
  'title',
  'description',
  'examples',
  'default',
  'x-authenticates',
  'x-fix',
  'x-guards',
  'x-refuses',
  'x-refuses-members',
  'x-restart',
  'x-secret',
  'x-list',
  'x-switch',
  'x-optional',
  'x-says',
  'x-file-of',
]);

/** Its only `require`, which an ES module has not. */
const REQUIRED = 'require("ajv/dist/runtime/ucs2length").default';
const IMPORTED = "import ucs2length from 'ajv/dist/runtime/ucs2length.js';\n";

/** JavaScript that exports `validate`, a function as `ajv.compile` returns it. */
export function validatorSource(schema: SchemaNode): string {
  const ajv = new Ajv({
    allErrors: true,
    messages: false,
    useDefaults: true,
    strictTypes: false,
    inlineRefs: false,
    code: { source: true, esm: true, optimize: 1 },
  });
  const parts = new Map<string, string>();
  const root = shared(schema, parts);
  const named = [...parts].map(([text, name]) => [name, JSON.parse(text) as unknown]);
  ajv.addSchema({ $id: 'parts', $defs: Object.fromEntries(named) as unknown });
  const code = (standalone as unknown as (ajv: Ajv, validate: unknown) => string)(ajv, ajv.compile(root));
  const whole = code
    .replace('"use strict";', '')
    .replace('export default validate0;', '')
    .replaceAll(REQUIRED, 'ucs2length.default')
    // One statement a line would be a third longer; one function a line still shows what a change of the schema did.
    .replaceAll(/(?=(?:function validate|const (?:schema|pattern|func))\d)/g, '\n');
  if (whole.includes('require(')) throw new Error('the validator requires something else than ucs2length');
  return `${HEAD}${IMPORTED}${whole}\n`;
}

/**
 * A reference to what is checked at a place: equal places share one function, and keys that nothing reads are left out.
 * @param parts by their text, the name of each
 */
function shared(schema: SchemaNode, parts: Map<string, string>): object {
  const checked: Record<string, unknown> = {};
  for (const [word, value] of Object.entries(schema)) {
    if (OTHER_WORDS.has(word)) continue;
    if (word === 'properties')
      checked[word] = membersOf(value as Readonly<Record<string, SchemaNode>>, parts);
    // A name is checked where it stands: an error below a reference does not tell that it is about a name.
    else if (['items', 'additionalProperties'].includes(word) && typeof value === 'object')
      checked[word] = shared(value as SchemaNode, parts);
    else checked[word] = value;
  }
  const text = JSON.stringify(checked);
  const name = parts.get(text) ?? `part${parts.size}`;
  parts.set(text, name);
  const { default: dflt } = schema;
  return { $ref: `parts#/$defs/${name}`, ...(dflt === undefined ? {} : { default: dflt }) };
}

const membersOf = (
  members: Readonly<Record<string, SchemaNode>>,
  parts: Map<string, string>,
): Record<string, object> =>
  Object.fromEntries(
    Object.entries(members)
      .filter(([, inner]) => !isInert(inner))
      .map(([key, inner]) => [key, shared(inner, parts)]),
  );
