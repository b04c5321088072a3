// The body of a request as one Buffer, bounded, uncompressed.
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, zstdDecompress, type ZlibOptions } from 'node:zlib';
import { Fault } from '../errors/fault.ts';
import type { Exchange } from './exchange.ts';

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
  const body = await x.req.read(limits.requestBytes);
  return encoding === 'identity' ? body : await decode(body, encoding, limits.inflatedBytes as number);
}

function tooLarge(limitBytes: number): Fault {
  return new Fault('body_too_large', `The request body is larger than ${limitBytes} bytes.`);
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
