// The operator's static headers: checked once at load, so that a request never meets a name or value that breaks
// HTTP framing. Pure; values leave it as secrets.
import type { Dialect } from '../dialect.ts';
import type { Findings } from '../findings.ts';
import { Secret } from '../secret.ts';
import type { Path } from '../tree.ts';

/** Lower-case name -> value. */
export type StaticHeaders = ReadonlyMap<string, Secret>;

type Written = Readonly<Record<string, string | number | boolean>>;

/** Framing, hop-by-hop (RFC 9110 section 7.6.1) and what the proxy itself decides per call. */
export const NEVER: ReadonlySet<string> = new Set([
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** What may be the name of a header (RFC 9110 section 5.6.2). */
export const FIELD_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/**
 * What may be the value of a header: visible characters, blanks and Latin-1. A character above 255 would be cut to its
 * low byte on the wire, which may be a line end.
 */
export const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Headers of one place (`extra_headers`, or its other name `headers`), checked; bad ones become issues. */
export function headersAt(
  written: Written | undefined,
  path: Path,
  dialect: Dialect,
  findings: Findings,
): StaticHeaders {
  const checked = new Map<string, Secret>();
  for (const [rawName, raw] of Object.entries(written ?? {})) {
    const name = rawName.toLowerCase();
    const at = [...path, rawName];
    const value = String(raw).trim();
    if (NEVER.has(name) || NEVER.has(name.replaceAll('_', '-')))
      findings.error(
        at,
        `'${name}' is set by the proxy itself and cannot be an extra header`,
        'remove it',
        'key',
      );
    else if (!FIELD_VALUE.test(value)) findings.error(at, ...offence(value));
    else if (checked.has(name))
      findings.error(
        at,
        `'${name}' stands twice; header names do not differ by case`,
        'keep one of the two',
        'key',
      );
    else {
      if (name.replaceAll('_', '-') === dialect.sessionHeader)
        findings.warn(at, 'is stamped per request; this value is overwritten', 'remove it', 'key');
      checked.set(name, new Secret(value));
    }
  }
  return checked;
}

function offence(value: string): [message: string, mend: string] {
  if (Array.from(value).some((letter) => letter < ' ' || letter === '\x7f'))
    return [
      'the value holds a line break or another control character',
      'a header value is one line; remove it',
    ];
  return ['the value holds a character beyond Latin-1', 'write it in ASCII, for example percent-encoded'];
}

/** `over` wins per name; sorted by name so that equal configurations give equal snapshots. */
export function joinHeaders(base: StaticHeaders, over: StaticHeaders): StaticHeaders {
  return new Map([...base, ...over].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
