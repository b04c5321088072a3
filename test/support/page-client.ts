// Requests as the page of the console sends them from a browser: with its cookies and what browsers tell of a request, and
// without a key.
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';

export interface PageAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly json: Readonly<Record<string, unknown>>;
}

export class PageClient {
  readonly url: string;
  readonly cookies = new Map<string, string>();

  /** @param url of the proxy, with the port. @param cookies of another page of this browser */
  constructor(url: string, cookies: ReadonlyMap<string, string> = new Map()) {
    this.url = url;
    for (const [name, value] of cookies) this.cookies.set(name, value);
  }

  get cookie(): string {
    return [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  /** @param headers '' takes one away */
  call(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<PageAnswer> {
    const payload = body === undefined ? null : Buffer.from(JSON.stringify(body));
    const all = {
      'sec-fetch-site': 'same-origin',
      ...(method === 'GET' ? {} : { origin: this.url }),
      ...(this.cookies.size === 0 ? {} : { cookie: this.cookie }),
      ...(payload === null
        ? {}
        : { 'content-type': 'application/json', 'content-length': String(payload.length) }),
      ...headers,
    };
    const sent = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ''));
    return new Promise((resolve, reject) => {
      const req = httpRequest(`${this.url}${path}`, { method, headers: sent, agent: false }, (res) => {
        const chunks: Buffer[] = [];
        res.on('data', (chunk: Buffer) => chunks.push(chunk));
        res.on('error', reject);
        res.on('end', () => {
          for (const set of res.headers['set-cookie'] ?? []) this.#keep(set);
          const text = Buffer.concat(chunks).toString();
          const isJson = String(res.headers['content-type']).includes('json') && text !== '';
          const json = isJson ? (JSON.parse(text) as Readonly<Record<string, unknown>>) : {};
          resolve({ status: res.statusCode ?? 0, headers: res.headers, text, json });
        });
      });
      req.on('error', reject);
      req.end(payload ?? undefined);
    });
  }

  signIn(key: string): Promise<PageAnswer> {
    return this.call('POST', '/ui/session', { key });
  }

  #keep(set: string): void {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
    if (value === '' || /max-age=0(?:;|$)/i.test(set)) this.cookies.delete(name);
    else this.cookies.set(name, value);
  }
}

/** The code of a refusal, in both shapes of errors. */
export function codeOf({ json }: PageAnswer): unknown {
  const { error } = json as { error?: { code?: unknown; reason?: unknown } };
  return error?.reason ?? error?.code ?? null;
}
