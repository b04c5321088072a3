// How the bytes of an upstream's response are coded (RFC 9110 section 8.4), and what undoes it: as they come, or all at once.
import type { Buffer } from 'node:buffer';
import type { Transform } from 'node:stream';
import {
  brotliDecompressSync,
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
  gunzipSync,
  inflateRawSync,
  inflateSync,
  zstdDecompressSync,
} from 'node:zlib';
import { headerIn } from '../headers/flat-list.ts';

interface Coding {
  /** A decoder that gives what it can of bytes that are cut short. @param first the first bytes of the body */
  readonly open: (first: Buffer) => Transform;
  readonly inflate: (body: Buffer, options: { readonly maxOutputLength: number }) => Buffer;
}

/** The zlib format, but some servers send raw deflate; zlib's first byte tells (RFC 9110 section 8.4.1.2). */
const isZlib = (first: Buffer): boolean => ((first[0] ?? 0) & 0x0f) === 8;

const ZLIB_OPTIONS = { finishFlush: constants.Z_SYNC_FLUSH };
const GZIP: Coding = { open: () => createGunzip(ZLIB_OPTIONS), inflate: gunzipSync };
/** One coding at a time: no gateway was seen to send several in a row. */
const CODINGS: ReadonlyMap<string, Coding> = new Map<string, Coding>([
  ['gzip', GZIP],
  ['x-gzip', GZIP],
  [
    'deflate',
    {
      open: (first) => (isZlib(first) ? createInflate(ZLIB_OPTIONS) : createInflateRaw(ZLIB_OPTIONS)),
      inflate: (body, options) => (isZlib(body) ? inflateSync : inflateRawSync)(body, options),
    },
  ],
  [
    'br',
    {
      open: () => createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH }),
      inflate: brotliDecompressSync,
    },
  ],
  [
    'zstd',
    {
      open: () => createZstdDecompress({ finishFlush: constants.ZSTD_e_flush }),
      inflate: zstdDecompressSync,
    },
  ],
]);

/** No coding; the last ones are none that exist, and gateways state them for bytes that are as they are. */
const NO_CODINGS: ReadonlySet<string> = new Set(['identity', 'none', 'utf-8', 'utf8']);

/** The coding that a Content-Encoding names, in lower case; '' = the bytes are as they are. */
export function codingOf(contentEncoding: string | null): string {
  const coding = contentEncoding?.trim().toLowerCase() ?? '';
  return NO_CODINGS.has(coding) ? '' : coding;
}

/** null: the coding is not known. @param first the first bytes of the body */
export const decoderFor = (coding: string, first: Buffer): Transform | null =>
  CODINGS.get(coding)?.open(first) ?? null;

/** The body as it was before it was coded; null: its bytes are not what the coding says, or too many. */
export function inflated(body: Buffer, contentEncoding: string | null, mostBytes: number): Buffer | null {
  const coding = codingOf(contentEncoding);
  if (coding === '') return body;
  try {
    return CODINGS.get(coding)?.inflate(body, { maxOutputLength: mostBytes }) ?? null;
  } catch {
    return null;
  }
}

/** @param headers flat, names in lower case */
export const isEventStream = (headers: readonly string[]): boolean =>
  headerIn(headers, 'content-type')?.trim().toLowerCase().startsWith('text/event-stream') === true;

/** @param headers flat, names in lower case */
export const isCompressed = (headers: readonly string[]): boolean =>
  codingOf(headerIn(headers, 'content-encoding')) !== '';
