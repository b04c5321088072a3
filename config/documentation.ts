// Renders the configuration reference page (Markdown) from the schema alone. Pure; used by generate.ts.
import { isInert, typesOf, type SchemaNode } from './schema.ts';

const INTRO = `# Configuration

<!-- Generated from schemas/gateway.json by \`node config/generate.ts\`; never edit by hand. -->

One YAML file, named by \`--config\` or \`CONFIG_FILE_PATH\`. Editors that know JSON Schema complete and check it when
it begins with this line, with the path from your file to the schema (\`throughline init\` and \`import\` write it):

\`\`\`yaml
# yaml-language-server: $schema=../../schemas/editor.json
\`\`\`

- \`os.environ/NAME\` may stand for any value, in lists too. A name that is not set is an error;
  for \`router_settings.redis_*\` and \`cache_params\` it counts as left out, with a warning, unless a \`fail_closed\` setting asks for what servers share.
- Tags that are not YAML's own (\`!ENV NAME\`, \`!secret name\`, \`!include file\`) are errors, as in LiteLLM.
- Secrets may stand in files: \`api_key_file\`, \`master_key_file\` and so on name one. Where \`NAME\` is not set and
  \`NAME_FILE\` is, \`os.environ/NAME\` is the content of that file. Both are read again when they change; a file that
  is missing or empty keeps what is served. [Secrets from files](secrets.md) says more.
- A key without a value counts as not written. Where that would leave something open
  (\`master_key\`, \`allowed_ips\`; \`team_id\` and \`models\` of a key) or send prompts, keys or passwords elsewhere or unprotected
  (\`api_base\`, \`credential_values\`, \`redis_ssl\`), it is an error. A cap without a value is none, as in LiteLLM.
- An entry of \`model_list\` is a _deployment_; the deployments with one \`model_name\` are a _model group_.
- Times are seconds, prices are US dollars; both may be written as numbers or as numeric text.
- Every issue is reported at once, as \`file:line:column path: what is wrong - how to fix it\`. Unknown keys are errors.
- Keys of the LiteLLM dialect that have no effect here are accepted and warned about once each; they are listed at the
  end of each section. Those that would protect something - budgets, guardrails, other ways of authentication - stop
  the start instead, unless they are off (false, 0, empty): nothing here would enforce them.
- \`config/samples/\` holds files to begin with.
`;

const UNREAD: readonly (readonly [effect: string, text: string])[] = [
  ['none', 'Accepted without effect'],
  ['always', 'Always so here, and accepted'],
];

const AT_START = [
  [true, 'Read at the start, so that a change needs a restart'],
  ['presence', 'To add or to remove it needs a restart, another change of it where that is said of a key'],
  [
    'addition',
    'To add it needs a restart, another change of it where that is said of a key, to remove it none',
  ],
] as const;

/** The page. */
export function documentation(root: SchemaNode): string {
  const parts = [INTRO, ...section('The file', '', root)];
  return `${parts.join('\n').trimEnd()}\n`;
}

/** A heading, a table of keys, the keys without effect, then each mapping below. */
function section(heading: string, prefix: string, schema: SchemaNode): string[] {
  const properties = Object.entries(schema.properties ?? {});
  const effective = properties.filter(([, inner]) => !isInert(inner));
  const unread = (effect: string): string =>
    properties
      .filter(([, inner]) => inner['x-effect'] === effect)
      .map(([key]) => `\`${key}\``)
      .join(', ');
  const lines = [`## ${heading}`, ''];
  if (prefix !== '') lines.push(schema.description ?? '', '');
  lines.push('| Key | Type | Default | What it does | Example |', '| --- | --- | --- | --- | --- |');
  for (const [key, inner] of effective) lines.push(row(key, inner, schema.required?.includes(key) === true));
  lines.push('');
  if (schema.additionalProperties !== false && prefix !== '') lines.push('Any other key is allowed.', '');
  for (const [effect, text] of UNREAD) {
    const names = unread(effect);
    if (names !== '') lines.push(`${text}: ${names}.`, '');
  }
  for (const [mark, text] of AT_START) {
    const names = effective.filter(([, inner]) => inner['x-restart'] === mark).map(([key]) => `\`${key}\``);
    if (names.length > 0) lines.push(`${text}: ${names.join(', ')}.`, '');
  }
  const refused = properties.filter(([, inner]) => inner['x-effect'] === 'refused');
  if (refused.length > 0) {
    lines.push('Refused, because nothing here would enforce it:', '', '| Key | Instead |', '| --- | --- |');
    for (const [key, inner] of refused) lines.push(`| \`${key}\` | ${cell(inner['x-fix'] ?? '')} |`);
    lines.push('');
  }
  for (const [key, inner] of effective) {
    const nested = inner.items ?? inner;
    const path = `${prefix}${prefix === '' ? '' : '.'}${key}${inner.items === undefined ? '' : '[]'}`;
    if (nested.properties !== undefined) lines.push(...section(`\`${path}\``, path, nested));
  }
  return lines;
}

function row(key: string, schema: SchemaNode, required: boolean): string {
  const nested = schema.properties !== undefined || schema.items?.properties !== undefined;
  const standing = required ? 'required' : '';
  const dflt = schema.default === undefined || nested ? standing : code(schema.default);
  const example = nested ? 'see below' : code(schema.examples?.[0]);
  return `| \`${key}\` | ${typeName(schema)} | ${dflt} | ${cell(schema.description ?? '')} | ${example} |`;
}

function typeName(schema: SchemaNode): string {
  if (schema.enum !== undefined) return schema.enum.map(code).join(' or ');
  const says = schema['x-says'];
  if (says !== undefined && typesOf(schema).length > 1) return says.replace(/^an? /, '');
  const names: Record<string, string> = {
    array: 'list',
    object: 'mapping',
    string: 'text',
    integer: 'whole number',
  };
  return typesOf(schema)
    .map((type) => names[type] ?? type)
    .join(' or ');
}

function code(value: unknown): string {
  return `\`${cell(typeof value === 'string' ? value : JSON.stringify(value))}\``;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}
