// The page of the API: the whole document as HTML that is made on the server. No script and no request to anywhere; the
// one style block is allowed by its hash, so the policy needs no `unsafe-inline`.
import { hash } from 'node:crypto';
import type { Document, Operation } from './document.ts';
import type { JsonSchema } from './operation.ts';

const STYLE = `
:root{color-scheme:light dark;--line:#8884;--soft:#8881;--dim:light-dark(#555,#aaa)}
body{font:15px/1.5 system-ui,sans-serif;margin:0 auto;max-width:62rem;padding:1rem 1.25rem 4rem}
h1{font-size:1.5rem;margin:.5rem 0}h2{font-size:1.1rem;margin:2rem 0 .5rem}h3{font-size:.95rem;margin:1rem 0 .25rem}
p{margin:.4rem 0}code,pre{font:13px/1.5 ui-monospace,monospace;overflow-wrap:anywhere}
pre{background:var(--soft);border-radius:6px;overflow-x:auto;padding:.6rem .8rem}
nav a{display:inline-block;margin:0 .9rem .2rem 0}a{color:light-dark(#0a58ca,#7db4ff)}
details{border:1px solid var(--line);border-radius:6px;margin:.4rem 0}details>div{padding:0 .9rem .9rem}
summary{cursor:pointer;padding:.45rem .9rem}summary:focus-visible,a:focus-visible{outline:2px solid;outline-offset:2px}
summary b{display:inline-block;font:600 12px ui-monospace,monospace;min-width:4.2rem}
summary i{color:var(--dim);font-style:normal;margin-left:.6rem}
table{border-collapse:collapse;display:block;overflow-x:auto}thead,tbody{min-width:100%}td,th{min-width:5rem}td,th{border-bottom:1px solid var(--line);padding:.25rem .6rem .25rem 0;text-align:left;vertical-align:top}
th{font-weight:600;font-size:.85rem}
`;

/** For pages with this style block and nothing else. */
export const PAGE_HEADERS = [
  'content-type',
  'text/html; charset=utf-8',
  'content-security-policy',
  `default-src 'none'; style-src 'sha256-${hash('sha256', STYLE, 'base64')}'; img-src data:; base-uri 'none'; ` +
    `form-action 'none'; frame-ancestors 'none'`,
  'x-content-type-options',
  'nosniff',
  'referrer-policy',
  'no-referrer',
  'cross-origin-opener-policy',
  'same-origin',
];

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const text = (raw: string): string => raw.replaceAll(/[&<>"]/g, (one) => ESCAPES[one] ?? one);
const code = (raw: string): string => `<code>${text(raw)}</code>`;

/** A whole page. @param body HTML */
export function pageOf(title: string, body: string): string {
  return (
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${text(title)}</title>` +
    '<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">' +
    `<style>${STYLE}</style></head><body>${body}</body></html>`
  );
}

/** `GET /docs`. */
export function documentPage(document: Document): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  const sections = document.tags.map(({ name }) => {
    const own = operations.filter(({ operation }) => operation.tags.includes(name));
    const all = own.map(({ path, method, operation }) => operationHtml(document, method, path, operation));
    return `<section><h2 id="${idOf(name)}">${text(capital(name))}</h2>${all.join('')}</section>`;
  });
  const links = document.tags.map(({ name }) => `<a href="#${idOf(name)}">${text(capital(name))}</a>`);
  return pageOf(
    'Throughline: API',
    '<h1>Throughline: API</h1><p>Every operation of this proxy. For programs: <a href="/openapi.json">' +
      '/openapi.json</a>, OpenAPI 3.1. In the examples <code>$PROXY</code> is the address of the proxy and ' +
      `<code>$KEY</code> your key.</p><nav aria-label="Sections">${links.join('')}</nav><main>${sections.join('')}</main>`,
  );
}

const idOf = (tag: string): string => tag.toLowerCase().replaceAll(' ', '-');
const capital = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);

const WHO: Readonly<Record<string, string>> = {
  open: 'Needs no key.',
  public: 'Needs no key.',
  inference: 'Any key that makes LLM calls.',
  listing: 'Any key.',
  management: 'Any virtual key; who may do what to which object is checked.',
  admin: 'The master key, or a key of a proxy_admin.',
  metrics: 'The master key, unless the operator opened it.',
};

function operationHtml(document: Document, method: string, path: string, operation: Operation): string {
  const { parameters = [], requestBody, responses, summary } = operation;
  const aliases = operation['x-aliases'] ?? [];
  const rows = parameters.map(({ name, in: place, required, schema, description = '' }) => [
    code(name),
    place,
    text(typeOf(schema)),
    required ? 'yes' : '',
    text(description),
  ]);
  const bodies = Object.entries(requestBody?.content ?? {}).map(
    ([type, { schema }]) => `<h3>Body: ${code(type)}</h3>${membersHtml(document, schema, 'Needed')}`,
  );
  const answers = Object.entries(responses).map(([status, { description, content = {} }]) => [
    code(status),
    text(description),
    Object.entries(content)
      .map(([type, { schema }]) => `${code(type)} ${text(typeOf(schema))}`)
      .join('<br>'),
  ]);
  const ok = Object.values(responses['200']?.content ?? {})[0]?.schema ?? {};
  return (
    `<details id="${operation.operationId}"><summary><b>${method}</b>${code(path)}<i>${text(summary)}</i></summary><div>` +
    `<p>${text(WHO[operation['x-access']] ?? '')}</p>` +
    (aliases.length === 0 ? '' : `<p>Also at ${aliases.map(code).join(', ')}</p>`) +
    (rows.length === 0 ? '' : `<h3>Parameters</h3>${table(['Name', 'In', 'Type', 'Needed', ''], rows)}`) +
    bodies.join('') +
    `<h3>Answers</h3>${table(['Status', '', 'Content'], answers)}` +
    (membersOf(document, ok).length === 0
      ? ''
      : `<h3>Members of the answer</h3>${membersHtml(document, ok, 'Always')}`) +
    `<h3>Example</h3><pre>${text(curl(document, method, path, operation))}</pre></div></details>`
  );
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = (tag: string, row: readonly string[]): string =>
    `<tr>${row.map((cell) => `<${tag}>${cell}</${tag}>`).join('')}</tr>`;
  return `<table><thead>${cells('th', head)}</thead><tbody>${rows.map((row) => cells('td', row)).join('')}</tbody></table>`;
}

interface Member {
  readonly name: string;
  readonly schema: JsonSchema;
  readonly required: boolean;
}

const schemasIn = (value: unknown): readonly JsonSchema[] =>
  Array.isArray(value) ? (value as readonly JsonSchema[]) : [];

/** Of an object, with what it refers to. */
function membersOf(document: Document, schema: JsonSchema): readonly Member[] {
  const { $ref, allOf, properties, required, items } = schema;
  if (typeof $ref === 'string')
    return membersOf(document, document.components.schemas[$ref.split('/').at(-1) ?? ''] ?? {});
  if (typeof items === 'object' && items !== null) return membersOf(document, items as JsonSchema);
  const inherited = schemasIn(allOf).flatMap((one) => membersOf(document, one));
  const needed: readonly unknown[] = Array.isArray(required) ? required : [];
  const own = Object.entries((properties ?? {}) as Readonly<Record<string, JsonSchema>>);
  return [
    ...inherited,
    ...own.map(([name, inner]) => ({ name, schema: inner, required: needed.includes(name) })),
  ];
}

function membersHtml(document: Document, schema: JsonSchema, whether: string): string {
  const members = membersOf(document, schema);
  if (members.length === 0) return `<p>${text(typeOf(schema))}</p>`;
  const rows = members
    .toSorted((a, b) => Number(b.required) - Number(a.required))
    .map((one) => [
      code(one.name),
      text(typeOf(one.schema)),
      one.required ? 'yes' : '',
      text(descriptionOf(one.schema)),
    ]);
  return table(['Member', 'Type', whether, ''], rows);
}

const descriptionOf = ({ description }: JsonSchema): string =>
  typeof description === 'string' ? description : '';

/** A schema in a word or two. */
function typeOf(schema: JsonSchema): string {
  const { $ref, type, anyOf, allOf, items, enum: names } = schema;
  if (typeof $ref === 'string') return $ref.split('/').at(-1) ?? '';
  if (Array.isArray(names)) return names.filter((one) => one !== null).join(' | ');
  const parts = schemasIn(anyOf ?? allOf).filter((one) => one['maxLength'] !== 0);
  if (parts.length > 0) return parts.map(typeOf).join(anyOf === undefined ? ' & ' : ' | ');
  if (typeof items === 'object' && items !== null) return `list of ${typeOf(items as JsonSchema)}`;
  if (Array.isArray(type)) return type.join(' | ');
  return typeof type === 'string' ? type : 'anything';
}

function curl(document: Document, method: string, path: string, operation: Operation): string {
  const { parameters = [], requestBody, security } = operation;
  const query = parameters.filter(({ in: place, required }) => place === 'query' && required);
  const asked = query.map(({ name, schema }) => `${name}=${exampleOf(schema)}`).join('&');
  const [schema] = Object.values(requestBody?.content ?? {}).map((one) => one.schema);
  const lines = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}"$PROXY${path.replaceAll(/\{(\w+)\}/g, (_, name: string) => name.toUpperCase())}${asked === '' ? '' : `?${asked}`}"`,
    ...(security.length === 0 ? [] : ['-H "Authorization: Bearer $KEY"']),
  ];
  if (schema !== undefined) {
    const needed = membersOf(document, schema).filter((one) => one.required || one.name === 'model');
    const body = Object.fromEntries(needed.map((one) => [one.name, valueOf(document, one.schema)]));
    lines.push(`-H 'content-type: application/json'`, `-d '${JSON.stringify(body)}'`);
  }
  return lines.join(' \\\n  ');
}

function exampleOf({ examples, enum: names }: JsonSchema): string {
  const [first] = [examples, names].flatMap((list): readonly unknown[] => (Array.isArray(list) ? list : []));
  return typeof first === 'string' ? first : '...';
}

function valueOf(document: Document, schema: JsonSchema): unknown {
  const { type, anyOf, items, enum: names } = schema;
  if (Array.isArray(names)) return names[0];
  const [first] = schemasIn(anyOf);
  if (first !== undefined) return valueOf(document, first);
  if (items !== undefined) return [valueOf(document, items as JsonSchema)];
  const members = membersOf(document, schema).filter((one) => one.required);
  if (type === 'object')
    return Object.fromEntries(members.map((one) => [one.name, valueOf(document, one.schema)]));
  return { number: 0, integer: 0, boolean: true }[String(type)] ?? '...';
}
