// api_base -> origin and path prefix. Every mistake gets a message with the right spelling. Messages show only the
// scheme, host and path of a URL, because the other parts may contain credentials. Pure.
import type { Kind, PathExtras } from './kinds/kind.ts';

export interface Base extends PathExtras {
  readonly origin: string;
  readonly pathPrefix: string;
  /** Normalised, ASCII, without trailing slashes: safe in a response header. */
  readonly shown: string;
}

export type BaseCheck =
  | { readonly ok: true; readonly base: Base }
  | {
      readonly ok: false;
      readonly message: string;
      /** What to write instead, or null when unknown. */
      readonly instead: string | null;
      readonly advice: string;
      /** Where LiteLLM would call all the same; null = nowhere. */
      readonly asWritten: Base | null;
    };

const ENDPOINT = /\/(chat\/completions|completions|embeddings|responses|messages|models)$/;

/** @param text api_base as configured @param version `api_version`, '' for none */
export function baseOf(text: string, kind: Kind, version = ''): BaseCheck {
  const url = URL.parse(text);
  if (url === null && /^https?:\/\//i.test(text)) return brokenInside(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    return wrong(
      'must be a URL that begins with http:// or https://',
      null,
      'for example https://gateway.example.com',
    );
  const path = url.pathname.replace(/\/+$/, '');
  const plain = `${url.origin}${path}`;
  if (url.username !== '' || url.password !== '')
    return wrong('must not contain credentials', plain, 'and put the key into api_key');
  if (url.search !== '' || url.hash !== '' || /[?#]/.test(text))
    return wrong('must not contain a query or a fragment', plain, '');
  const endpoint = ENDPOINT.exec(path)?.[0];
  if (endpoint !== undefined)
    return wrong(
      `must not name an endpoint; ${endpoint} is appended by the proxy`,
      fixedBase(url, path.slice(0, -endpoint.length), kind),
      '',
    );
  const check = kind.pathPrefix(path, version, url.hostname);
  const base = { origin: url.origin, shown: plain, query: '', modelInPath: false };
  if (!check.ok) {
    const { asWritten } = check;
    const used = asWritten === undefined ? null : { ...base, pathPrefix: asWritten };
    return { ...wrong(check.message, `${url.origin}${check.fixedPath}`, ''), asWritten: used };
  }
  const { pathPrefix, query = '', modelInPath = false } = check;
  return { ok: true, base: { ...base, pathPrefix, query, modelInPath } };
}

/** It begins as a URL does, and is none. */
function brokenInside(text: string): Wrong {
  const port = /^[^:]+:\/\/[^/?#]*[^/?#:]:([^/?#:\]]*)(?:[/?#]|$)/.exec(text)?.[1];
  if (port !== undefined && !(/^\d+$/.test(port) && Number(port) <= 65_535))
    return wrong('has no valid port', null, 'write a number from 1 to 65535 after the host, or leave it out');
  return wrong('has no valid host', null, 'for example https://gateway.example.com');
}

function fixedBase({ origin, hostname }: URL, path: string, kind: Kind): string {
  const check = kind.pathPrefix(path, '', hostname);
  return `${origin}${check.ok ? path : check.fixedPath}`;
}

type Wrong = Extract<BaseCheck, { readonly ok: false }>;

function wrong(message: string, instead: string | null, advice: string): Wrong {
  return { ok: false, message, instead, advice, asWritten: null };
}
