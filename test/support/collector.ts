// An OpenTelemetry collector on a socket: takes OTLP over HTTP and reads the protobuf by its wire format alone
// (https://protobuf.dev/programming-guides/encoding/), so that the SDK's encoder is not checked with its own decoder.
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { KEEPS_IDLE } from './keeps-idle.ts';
import type { Teardown } from './process-cleanup.ts';

export interface Span {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** '' = a root. */
  readonly parentId: string;
  /** 3 = client. */
  readonly kind: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** 0 unset, 2 error. */
  readonly status: number;
  readonly resource: Readonly<Record<string, unknown>>;
}

export interface Collector {
  readonly url: string;
  readonly spans: readonly Span[];
  /** Head and path of each export. */
  readonly exports: readonly { readonly path: string; readonly headers: IncomingHttpHeaders }[];
  /** Settles when so many spans have come. */
  received(count: number): Promise<readonly Span[]>;
}

/** @param status of each answer: 200 = taken */
export async function startCollector(
  t: Teardown,
  { status = () => 200 }: { status?: () => number } = {},
): Promise<Collector> {
  const spans: Span[] = [];
  const exports: { path: string; headers: IncomingHttpHeaders }[] = [];
  const arrivals = new EventEmitter();
  const server = createServer(KEEPS_IDLE, (req, res) => {
    const parts: Buffer[] = [];
    req.on('data', (part: Buffer) => parts.push(part));
    req.on('end', () => {
      const code = status();
      const body = Buffer.concat(parts);
      exports.push({ path: req.url ?? '', headers: req.headers });
      if (code === 200)
        spans.push(...spansIn(req.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body));
      res.writeHead(code, { 'content-type': 'application/x-protobuf' }).end();
      arrivals.emit('export');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    exports,
    received: async (count) => {
      while (spans.length < count) await once(arrivals, 'export');
      return spans;
    },
  };
}

type Field = bigint | Buffer;
type Message = ReadonlyMap<number, readonly Field[]>;

/** Bytes of a field by its wire type, where they do not stand before it. */
const FIXED_BYTES: Readonly<Record<number, number>> = { 1: 8, 5: 4 };

function messageOf(bytes: Buffer): Message {
  const fields = new Map<number, Field[]>();
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes.readUInt8(at);
      at += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const slice = (length: number): Buffer => {
    at += length;
    return bytes.subarray(at - length, at);
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const wire = tag & 7;
    const value = wire === 0 ? varint() : slice(FIXED_BYTES[wire] ?? Number(varint()));
    const number = tag >> 3;
    fields.set(number, [...(fields.get(number) ?? []), value]);
  }
  return fields;
}

const bytesAt = (message: Message, field: number): Buffer[] => (message.get(field) ?? []) as Buffer[];
const within = (message: Message, field: number): Message[] => bytesAt(message, field).map(messageOf);
const text = (message: Message, field: number): string => bytesAt(message, field)[0]?.toString() ?? '';
const hex = (message: Message, field: number): string => bytesAt(message, field)[0]?.toString('hex') ?? '';
const number = (message: Message, field: number): number => Number(message.get(field)?.[0] ?? 0);
const ms = (message: Message, field: number): number =>
  Number((bytesAt(message, field)[0]?.readBigUInt64LE() ?? 0n) / 1000n) / 1000;

function spansIn(body: Buffer): Span[] {
  return within(messageOf(body), 1).flatMap((resourceSpans) => {
    const resource = attributesOf(within(resourceSpans, 1)[0] ?? new Map(), 1);
    return within(resourceSpans, 2).flatMap((scopeSpans) =>
      within(scopeSpans, 2).map((span) => ({
        name: text(span, 5),
        traceId: hex(span, 1),
        spanId: hex(span, 2),
        parentId: hex(span, 4),
        kind: number(span, 6),
        startMs: ms(span, 7),
        endMs: ms(span, 8),
        attributes: attributesOf(span, 9),
        status: number(within(span, 15)[0] ?? new Map(), 3),
        resource,
      })),
    );
  });
}

function attributesOf(message: Message, field: number): Record<string, unknown> {
  return Object.fromEntries(
    within(message, field).map((pair) => [text(pair, 1), valueOf(within(pair, 2)[0] ?? new Map())]),
  );
}

function valueOf(value: Message): unknown {
  if (value.has(1)) return text(value, 1);
  if (value.has(2)) return number(value, 2) === 1;
  if (value.has(3)) return number(value, 3);
  if (value.has(4)) return bytesAt(value, 4)[0]?.readDoubleLE();
  return within(within(value, 5)[0] ?? new Map(), 1).map(valueOf);
}
