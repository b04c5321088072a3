// The format of a capsule, version 1: lines of JSON. The first line is the metadata, as they stand here; then the sealed content
// in chunks, if it is kept; the last line is the SHA-256 of all before it. docs/find-a-fault.md describes it for others.
import { Buffer } from 'node:buffer';
import { hash, type KeyObject } from 'node:crypto';
import { isObject, parseObject } from '../bodies/json.ts';
import { CannotOpen, CHUNK_BYTES, Opener } from './seal.ts';

const CAPSULE_VERSION = 1;
/** That of its call: nothing else is ever part of a path. */
export const CAPSULE_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** No capsule is larger: 64 MiB of content in base64, and its times. */
export const MOST_CAPSULE_BYTES = 128 * 1024 * 1024;

/** Name and value; null = the value is not kept. */
export type KeptHeader = readonly [name: string, value: string | null];
/** Milliseconds after the call began, and the bytes that came then. */
export type Piece = readonly [atMs: number, bytes: number];

/** A stream of bytes: how many, and when they came. */
export interface RecordedBytes {
  readonly bytes: number;
  readonly sha256: string;
  readonly pieces: readonly Piece[];
  /** Pieces that came after the last one that is listed. */
  readonly pieces_left_out: number;
  /** Of them the content has so many bytes; the first ones. */
  readonly kept_bytes: number;
}

export interface RecordedMessage {
  readonly headers: readonly KeptHeader[];
  readonly body: Pick<RecordedBytes, 'bytes' | 'sha256' | 'kept_bytes'>;
}

/** How the upstream ended an attempt. `open`: the proxy ended it first. */
export type AttemptEnd = 'whole' | 'broken' | 'open';

export interface RecordedAttempt {
  readonly deployment: string;
  readonly model: string;
  readonly api_base: string;
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly started_ms: number;
  /** When the request was on its way; null = there was no connection. */
  readonly sent_ms: number | null;
  readonly request: RecordedMessage;
  readonly head: {
    readonly at_ms: number;
    readonly status: number;
    readonly headers: readonly KeptHeader[];
  } | null;
  readonly response: RecordedBytes;
  readonly end: AttemptEnd;
  readonly ended_ms: number | null;
  /** A code, where the connection broke. */
  readonly error: string | null;
}

/** What the client got. */
export interface RecordedResponse {
  readonly head: RecordedAttempt['head'];
  readonly body: RecordedBytes;
  /** `whole`: the proxy ended it. `cut`: the proxy broke the connection. `left`: the client closed it. */
  readonly end: 'whole' | 'cut' | 'left';
}

export interface CapsuleMetadata {
  readonly capsule: typeof CAPSULE_VERSION;
  readonly id: string;
  /** ISO 8601, UTC. */
  readonly started: string;
  readonly proxy: string;
  /** The version of the configuration that served the call. */
  readonly config: string;
  /** Which order it was recorded for. */
  readonly rule: string;
  readonly call: Readonly<Record<string, string | number | boolean | null>>;
  readonly request: RecordedMessage;
  readonly attempts: readonly RecordedAttempt[];
  readonly response: RecordedResponse;
  /** As the spend row has it. */
  readonly end: Readonly<Record<string, unknown>>;
  /** null = nothing of what was said is kept. */
  readonly sealed: SealedContent | null;
}

/** How the content is sealed: request, then request and response of each attempt, then what the client got. */
export interface SealedContent {
  /** The fingerprint of the public key. */
  readonly for: string;
  /** X25519, base64. */
  readonly ephemeral: string;
  readonly bytes: number;
}

/** A capsule as it was read. */
export interface Capsule {
  readonly metadata: CapsuleMetadata;
  /** SHA-256 of the first line: bound to every chunk. */
  readonly bound: Buffer;
  readonly chunks: readonly string[];
  /** false: it was changed, or is torn. */
  readonly isIntact: boolean;
}

/** What a capsule holds, opened. */
export interface CapsuleContent {
  readonly request: Buffer;
  readonly attempts: readonly { readonly request: Buffer; readonly response: Buffer }[];
  readonly response: Buffer;
}

export const lineOf = (value: object): Buffer => Buffer.from(`${JSON.stringify(value)}\n`);

/** @throws CannotOpen for what is no capsule */
export function readCapsule(file: Buffer): Capsule {
  const text = file.toString('utf8');
  const lines = text.split('\n');
  const [first = ''] = lines;
  const metadata = parseObject(first);
  if (metadata === null || !('capsule' in metadata))
    throw new CannotOpen('this is no capsule: its first line is no JSON object with `capsule`');
  if (metadata['capsule'] !== CAPSULE_VERSION)
    throw new CannotOpen(
      `this capsule is of version ${String(metadata['capsule'])}; this program reads ${CAPSULE_VERSION}`,
    );
  if (!isMetadata(metadata)) throw new CannotOpen('the metadata of this capsule lack what each one has');
  const chunks: string[] = [];
  let stated: string | null = null;
  let at = Buffer.byteLength(first) + 1;
  for (const line of lines.slice(1)) {
    const found = parseObject(line);
    if (typeof found?.['sealed'] === 'string') chunks.push(found['sealed']);
    else if (typeof found?.['sha256'] === 'string') stated = found['sha256'];
    if (stated !== null) break;
    at += Buffer.byteLength(line) + 1;
  }
  const isIntact = stated === hash('sha256', file.subarray(0, at), 'hex');
  const bound = hash('sha256', `${first}\n`, 'buffer');
  return { metadata, bound, chunks, isIntact };
}

/** @throws CannotOpen when nothing is kept, with another key, for a changed or torn capsule */
export function openCapsule({ metadata, bound, chunks }: Capsule, privateKey: KeyObject): CapsuleContent {
  const { sealed } = metadata;
  if (sealed === null)
    throw new CannotOpen('the capsule holds sizes, times and digests alone: it was recorded without bodies');
  const opener = new Opener(privateKey, sealed.ephemeral, sealed.for);
  const parts = chunks.map((chunk, i) =>
    opener.chunk(Buffer.from(chunk, 'base64'), i, i === chunks.length - 1, bound),
  );
  const content = Buffer.concat(parts);
  if (content.length !== sealed.bytes || chunks.length !== chunksOf(sealed.bytes))
    throw new CannotOpen('the capsule is torn: a part of its content is missing');
  let at = 0;
  const take = ({ kept_bytes: bytes }: Pick<RecordedBytes, 'kept_bytes'>): Buffer => {
    at += bytes;
    return content.subarray(at - bytes, at);
  };
  return {
    request: take(metadata.request.body),
    attempts: metadata.attempts.map(({ request, response }) => ({
      request: take(request.body),
      response: take(response),
    })),
    response: take(metadata.response.body),
  };
}

/** An empty content has one chunk, too. */
export const chunksOf = (bytes: number): number => Math.max(1, Math.ceil(bytes / CHUNK_BYTES));

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;
const isText = (value: unknown): value is string => typeof value === 'string';

/** Capsules come as files from elsewhere: what is shown and replayed is checked first. */
function isMetadata(value: object): value is CapsuleMetadata {
  const { id, started, call, request, attempts, response, end, sealed } = value as Partial<CapsuleMetadata>;
  return (
    isText(id) &&
    isText(started) &&
    isObject(call) &&
    isObject(end) &&
    isMessage(request) &&
    Array.isArray(attempts) &&
    attempts.every(isAttempt) &&
    isObject(response) &&
    isHead(response['head']) &&
    isBytes(response['body']) &&
    (sealed === null ||
      (isObject(sealed) && isText(sealed['for']) && isText(sealed['ephemeral']) && isCount(sealed['bytes'])))
  );
}

function isAttempt(value: unknown): boolean {
  return (
    isObject(value) &&
    [
      value['deployment'],
      value['model'],
      value['api_base'],
      value['method'],
      value['path'],
      value['end'],
    ].every(isText) &&
    isMessage(value['request']) &&
    isHead(value['head']) &&
    isBytes(value['response'])
  );
}

const isMessage = (value: unknown): boolean =>
  isObject(value) && isHeaders(value['headers']) && isBody(value['body']);
const isHead = (value: unknown): boolean =>
  value === null || (isObject(value) && isCount(value['status']) && isHeaders(value['headers']));
const isHeaders = (value: unknown): boolean =>
  Array.isArray(value) &&
  value.every((one: unknown) => Array.isArray(one) && isText(one[0]) && (one[1] === null || isText(one[1])));
const isBody = (value: unknown): boolean =>
  isObject(value) && isCount(value['bytes']) && isText(value['sha256']) && isCount(value['kept_bytes']);
const isBytes = (value: unknown): boolean =>
  isBody(value) &&
  isObject(value) &&
  Array.isArray(value['pieces']) &&
  value['pieces'].every((one: unknown) => Array.isArray(one) && Number.isFinite(one[0]) && isCount(one[1]));
