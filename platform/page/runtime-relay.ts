// `POST /api/cloud-proxy`: a web page asks the agent server of a sandbox through its own origin, because that one allows
// no other origin. The request comes in an envelope, with the sandbox's key in its headers: that key says which
// sandbox is meant, and the call goes to no other place. Nothing is relayed that its holder could not ask directly.
import { hash } from 'node:crypto';
import { invalidValue, refuse } from '../api/refusal.ts';
import type { Handler } from '../api/router.ts';
import { requestBytes, ResponseTooLarge, type RuntimeBytes } from '../sandboxes/http-request.ts';
import type { KnownSandboxes } from '../sandboxes/known-sandboxes.ts';
import type { Sandbox } from '../sandboxes/sandbox.ts';

/** What a page sends; `host` names the agent server as `conversation_url` does. */
interface Envelope {
  readonly host: string;
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>> | null;
  readonly body?: unknown;
  readonly timeout_seconds?: number | null;
}

const TIMEOUT_S = 30;
/** A file or a diff that a page shows. */
const MAX_BYTES = 16 * 1024 * 1024;
/** Printable ASCII without spaces, below the agent server's API. */
const PATH = /^\/api\/[!-~]*$/;

/** The handlers, by operation id. */
export function runtimeRelay(known: KnownSandboxes): Record<string, Handler> {
  return {
    relayToRuntime: async ({ body }) => {
      const envelope = body as Envelope;
      const { method, path, timeout_seconds: seconds } = envelope;
      const { url, key } = placeOf(envelope, known);
      if (!PATH.test(path) || leavesApi(path))
        throw invalidValue(['body', 'path'], 'it must begin with /api/ and be encoded');
      const sent = envelope.body ?? null;
      const response = await requestBytes({
        to: url,
        method,
        path,
        ...(sent === null || method === 'GET' ? {} : { body: sent }),
        headers: { 'x-session-api-key': key },
        timeoutMs: (seconds ?? TIMEOUT_S) * 1000,
        maxBytes: MAX_BYTES,
      }).catch((error: unknown) => {
        if (error instanceof ResponseTooLarge) throw refuse(413, `It is larger than ${MAX_BYTES} bytes`);
        throw refuse(502, 'The agent server did not answer');
      });
      return relayed(response);
    },
  };
}

/** @throws Refusal 401 for a key that is none, 403 for another host than that of its sandbox, 409 when it does not run here */
function placeOf({ host, headers }: Envelope, known: KnownSandboxes): { url: string; key: string } {
  const name = Object.keys(headers ?? {}).find((one) => one.toLowerCase() === 'x-session-api-key');
  const key = name === undefined ? undefined : headers?.[name];
  const sandbox = typeof key === 'string' ? known.byKey(hash('sha256', key, 'hex')) : null;
  if (key === undefined || sandbox === null)
    throw refuse(401, 'Unauthorized', ['www-authenticate', 'APIKeyHeader']);
  const url = urlOf(sandbox, known);
  if (originOf(host) !== originOf(url)) throw refuse(403, 'The host is not the one of this sandbox');
  return { url, key };
}

function urlOf({ id }: Sandbox, known: KnownSandboxes): string {
  const own = known.own(id);
  if (own === undefined) throw refuse(503, 'The sandbox runs on another server; ask that one');
  if (own.status !== 'RUNNING' || own.place === null) throw refuse(409, `Sandbox is ${own.status}`);
  return own.place.url;
}

/** Whether a server that resolves `..` (RFC 3986, section 5.2.4), also encoded or with backslashes, sees another path. */
function leavesApi(path: string): boolean {
  return (
    path
      .split(/[?#]/, 1)[0]
      ?.split(/[/\\]|%2f|%5c/i)
      .some((part) => /^(?:\.|%2e){2}$/i.test(part)) === true
  );
}

function originOf(url: string): string | null {
  return URL.canParse(url) ? new URL(url).origin : null;
}

function relayed({ status, bytes, contentType }: RuntimeBytes): Awaited<ReturnType<Handler>> {
  if (status === 204) return { body: null };
  const isJson = /^application\/(?:[\w.-]+\+)?json\b/i.test(contentType);
  // Nothing else of a sandbox is rendered in the page's origin.
  return {
    status,
    bytes,
    contentType: isJson ? 'application/json' : 'application/octet-stream',
    headers: [],
  };
}
