// Socket -> one Buffer, bounded. A body whose length is announced is copied once, into place.
import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, zstdDecompress, type ZlibOptions } from 'node:zlib';
import { Fault } from '../errors/fault.ts';
import { roomyBuffer } from '../wire/headroom.ts';
import type { Exchange } from './exchange.ts';

/** How much of a refused body is read and thrown away, so that the client gets to read the answer. */
const DISCARD_BYTES = 8 * 1024 * 1024;

const EMPTY = Buffer.alloc(0);

const DECODERS: Readonly<Record<string, (body: Buffer, options: ZlibOptions) => Promise<Buffer>>> = {
  gzip: promisify<Buffer, ZlibOptions, Buffer>(gunzip),
  'x-gzip': promisify<Buffer, ZlibOptions, Buffer>(gunzip),
  deflate: promisify<Buffer, ZlibOptions, Buffer>(inflate),
  br: (body, options) => promisify(brotliDecompress)(body, { maxOutputLength: options.maxOutputLength }),
  zstd: (body, options) => promisify(zstdDecompress)(body, { maxOutputLength: options.maxOutputLength }),
};

/** @throws Fault body_too_large, compressed_body, bad_compressed_body, client_gone. */
export async function readBody(x: Exchange): Promise<Buffer> {
  const { limits } = x.live.snapshot;
  const encoding = x.headers.contentEncoding?.trim().toLowerCase() ?? 'identity';
  if (encoding !== 'identity' && (limits.inflatedBytes === null || DECODERS[encoding] === undefined)) {
    throw new Fault(
      'compressed_body',
      `A request body with content-encoding ${encoding.slice(0, 40)} is not taken.`,
    );
  }
  const announced = x.headers.contentLength === null ? -1 : Number(x.headers.contentLength);
  if (announced > limits.requestBytes) throw tooLarge(limits.requestBytes);
  if (x.expectsContinue) x.res.writeContinue();
  const body = await collect(x.req, announced, limits.requestBytes);
  return encoding === 'identity' ? body : await decode(body, encoding, limits.inflatedBytes as number);
}

/** Lets a refused body run out, within bounds: a connection reset would take the answer with it. */
export function discardBody(req: IncomingMessage): void {
  if (req.complete || req.destroyed) return;
  let bytes = 0;
  req.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > DISCARD_BYTES) req.socket.destroy();
  });
  req.resume();
}

function tooLarge(limitBytes: number): Fault {
  return new Fault('body_too_large', `The request body is larger than ${limitBytes} bytes.`);
}

function collect(req: IncomingMessage, announced: number, limitBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let target: Buffer | null = null;
    let bytes = 0;
    const leave = (): void => {
      req.off('data', onData);
      req.off('end', onEnd);
      req.off('close', onClose);
    };
    const onData = (chunk: Buffer): void => {
      const at = bytes;
      bytes += chunk.length;
      if (bytes > limitBytes) {
        leave();
        reject(tooLarge(limitBytes));
      } else if (announced > chunk.length) {
        target ??= roomyBuffer(announced);
        chunk.copy(target, at);
      } else chunks.push(chunk);
    };
    const onEnd = (): void => {
      leave();
      if (target !== null) resolve(target);
      else if (chunks.length === 1) resolve(chunks[0] as Buffer);
      else resolve(chunks.length === 0 ? EMPTY : Buffer.concat(chunks, bytes));
    };
    const onClose = (): void => {
      leave();
      reject(new Fault('client_gone', 'The client left before its request was complete.'));
    };
    req.on('data', onData);
    req.on('end', onEnd);
    req.on('close', onClose);
  });
}

async function decode(body: Buffer, encoding: string, limitBytes: number): Promise<Buffer> {
  const decoder = DECODERS[encoding] as (body: Buffer, options: ZlibOptions) => Promise<Buffer>;
  try {
    return await decoder(body, { maxOutputLength: limitBytes });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(limitBytes);
    throw new Fault('bad_compressed_body', `The request body is not valid ${encoding}.`, { cause });
  }
}
