// Response headers of an upstream that no client gets: they act on a browser or on a proxy in front, in the name of this proxy's
// origin, and tell a client of LLM calls nothing. Below the paths of the console, where a browser is sure, an allowlist decides.
import { HOP_BY_HOP } from '../../config/header-names.ts';

const HELD_BACK: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP,
  // SDKs follow a `location` by themselves: prompts, and keys in `x-api-key`, would go past this proxy to wherever it says.
  'location',
  'alt-svc',
  // What a browser keeps for the origin, or does there.
  'set-cookie',
  'set-cookie2',
  'set-login',
  'clear-site-data',
  'refresh',
  'strict-transport-security',
  'expect-ct',
  'public-key-pins',
  'public-key-pins-report-only',
  'content-security-policy',
  'origin-agent-cluster',
  'content-security-policy-report-only',
  'permissions-policy',
  'permissions-policy-report-only',
  'document-policy',
  'feature-policy',
  'service-worker-allowed',
  'speculation-rules',
  'no-vary-search',
  'activate-storage-access',
  'nel',
  'report-to',
  'reporting-endpoints',
  'sourcemap',
  'x-sourcemap',
  'accept-ch',
  'critical-ch',
  'use-as-dictionary',
  'cross-origin-opener-policy',
  'cross-origin-opener-policy-report-only',
  'cross-origin-embedder-policy',
  'cross-origin-embedder-policy-report-only',
  'cross-origin-resource-policy',
  'timing-allow-origin',
  'x-dns-prefetch-control',
  'x-permitted-cross-domain-policies',
  // The gateway's challenge is for this proxy's credential, and a browser would ask its person for a password.
  'www-authenticate',
  // What proxies and caches in front act on.
  'x-sendfile',
  'x-sendfile2',
  'surrogate-control',
  'surrogate-key',
  'cdn-cache-control',
  'edge-control',
]);

/** nginx, lighttpd and Perlbal act on these, files of their own included. */
const OF_PROXIES = ['x-accel-', 'x-lighttpd-', 'x-reproxy-'] as const;
const LETTER_A = 0x61;
const LETTER_X = 0x78;

/** @param name lower case */
export function isHeldBack(name: string): boolean {
  if (HELD_BACK.has(name)) return true;
  const first = name.charCodeAt(0); // nearly no name begins as one of these, and a comparison of texts is dearer
  // This proxy decides which origins may read a response (off unless configured), not the upstream.
  if (first === LETTER_A) return name.startsWith('access-control-');
  if (first !== LETTER_X) return false;
  for (const prefix of OF_PROXIES) if (name.startsWith(prefix)) return true;
  return false;
}

/** What the page of the console gets of an upstream's headers: what describes the answer, and what vendors say of a call. */
const SHOWN_TO_THE_PAGE: ReadonlySet<string> = new Set([
  'content-type',
  'content-encoding',
  'content-language',
  'cache-control',
  'date',
  'retry-after',
  'server-timing',
  'request-id',
  'x-request-id',
  'cf-ray',
]);
const FAMILIES_OF_THE_PAGE = /^(?:llm_provider-|openai-|anthropic-|x-ratelimit-)/;

/** Takes from a flat list what is not for the page of the console. */
export function keepForThePage(list: string[]): void {
  for (let i = list.length - 2; i >= 0; i -= 2) {
    const name = list[i] ?? '';
    if (!SHOWN_TO_THE_PAGE.has(name) && !FAMILIES_OF_THE_PAGE.test(name)) list.splice(i, 2);
  }
}
