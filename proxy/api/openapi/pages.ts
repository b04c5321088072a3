// `GET /`, `GET /openapi.json`, `GET /docs`: what this is, for people and programs. They need no key, because the interface is
// public knowledge; they say nothing of this installation: no version, model or address.
import type { Exchange } from '../../pipeline/exchange.ts';
import { sendResponse } from '../../pipeline/respond.ts';
import type { RouteRow } from '../route-row.ts';
import { openApiDocument } from './document.ts';
import { documentPage, PAGE_HEADERS, pageOf } from './page.ts';

const JSON_HEADERS = ['content-type', 'application/json', 'x-content-type-options', 'nosniff'];

const INDEX = {
  name: 'Throughline',
  what: 'A standalone LLM proxy. LLM calls and listings are below /v1.',
  documentation: '/docs',
  openapi: '/openapi.json',
  models: '/v1/models',
  readiness: '/health/readiness',
};
const INDEX_PAGE = pageOf(
  'Throughline',
  '<h1>Throughline</h1><p>A standalone LLM proxy. The base URL of an OpenAI client is this address with <code>/v1</code>.</p>' +
    '<ul><li><a href="/docs">The API, operation by operation</a></li>' +
    '<li><a href="/openapi.json">The same for programs, OpenAPI 3.1</a></li>' +
    '<li><a href="/health/readiness">Whether the proxy is ready</a></li></ul>',
);

export class ApiPages {
  readonly #rows: () => readonly RouteRow[];
  #made: { readonly brand: string; readonly document: Buffer; readonly page: Buffer } | null = null;

  /** @param rows all routes; asked for once, when somebody wants to see them */
  constructor(rows: () => readonly RouteRow[]) {
    this.#rows = rows;
  }

  /** `GET /`: a page for browsers, JSON for all others. */
  index(x: Exchange): void {
    const vary = ['vary', 'accept'];
    if (prefersHtml(x.req.header('accept')))
      sendResponse(x, 200, [...PAGE_HEADERS, ...vary], Buffer.from(INDEX_PAGE));
    else sendResponse(x, 200, [...JSON_HEADERS, ...vary], Buffer.from(JSON.stringify(INDEX)));
  }

  /** `GET /openapi.json` */
  document(x: Exchange): void {
    sendResponse(x, 200, JSON_HEADERS, this.#parts(x).document);
  }

  /** `GET /docs` */
  page(x: Exchange): void {
    sendResponse(x, 200, PAGE_HEADERS, this.#parts(x).page);
  }

  #parts({ active }: Exchange): { readonly document: Buffer; readonly page: Buffer } {
    const { dialect } = active.snapshot;
    if (this.#made?.brand !== dialect.brand) {
      const document = openApiDocument(this.#rows(), dialect);
      this.#made = {
        brand: dialect.brand,
        document: Buffer.from(JSON.stringify(document)),
        page: Buffer.from(documentPage(document)),
      };
    }
    return this.#made;
  }
}

/** Browsers name HTML first; other clients name JSON, or nothing in particular. */
function prefersHtml(accept: string | null): boolean {
  const types = (accept ?? '').toLowerCase().split(',');
  const at = (type: string): number => types.findIndex((one) => one.split(';', 1)[0]?.trim() === type);
  const [html, json] = [at('text/html'), at('application/json')];
  return html >= 0 && (json < 0 || html < json);
}
