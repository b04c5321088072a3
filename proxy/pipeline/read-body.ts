// Reads the body of a request: bounded, decompressed, in memory that goes back to its pool.
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, zstdDecompress, type ZlibOptions } from 'node:zlib';
import { errorCode } from '../../config/error-code.ts';
import { RequestBody } from '../bodies/request-body.ts';
import { Fault } from '../errors/fault.ts';
import type { Exchange } from './exchange.ts';

type Decoder = (body: Buffer, options: ZlibOptions) => Promise<Buffer>;

const DECODERS: Readonly<Record<string, Decoder>> = {
  gzip: promisify<Buffer, ZlibOptions, Buffer>(gunzip),
  'x-gzip': promisify<Buffer, ZlibOptions, Buffer>(gunzip),
  deflate: promisify<Buffer, ZlibOptions, Buffer>(inflate),
  br: (body, options) => promisify(brotliDecompress)(body, { maxOutputLength: options.maxOutputLength }),
  zstd: (body, options) => promisify(zstdDecompress)(body, { maxOutputLength: options.maxOutputLength }),
};

/**
 * @param mostBytes also of what a compressed body becomes; what the configuration states bounds all bodies
 * @throws Fault body_too_large, compressed_body, bad_compressed_body, client_gone.
 */
export function readBody(x: Exchange, mostBytes = Infinity): Promise<RequestBody> {
  const { req, headers, active } = x;
  const encoding = headers.contentEncoding?.trim().toLowerCase() ?? 'identity';
  if (encoding !== 'identity') return readEncoded(x, encoding, mostBytes);
  return req
    .read(Math.min(active.snapshot.limits.requestBytes, mostBytes))
    .then((bytes) => new RequestBody(bytes, () => req.release()));
}

async function readEncoded(
  { req, active }: Exchange,
  encoding: string,
  mostBytes: number,
): Promise<RequestBody> {
  const { limits } = active.snapshot;
  const decoder = DECODERS[encoding];
  if (limits.inflatedBytes === null || decoder === undefined) {
    const how =
      limits.inflatedBytes === null
        ? 'send it uncompressed; the operator can allow compression with general_settings.accept_compressed_requests'
        : `send it uncompressed, or as one of ${Object.keys(DECODERS).join(', ')}`;
    throw new Fault(
      'compressed_body',
      `A request body with content-encoding ${encoding.slice(0, 40)} is not taken: ${how}.`,
    );
  }
  const compressed = await req.read(Math.min(limits.requestBytes, mostBytes));
  const mostInflated = Math.min(limits.inflatedBytes, mostBytes);
  const body = new RequestBody(await decode(compressed, encoding, decoder, mostInflated));
  req.release(); // the decoder has read all of it
  return body;
}

function tooLarge(limitBytes: number): Fault {
  return new Fault('body_too_large', `The request body is larger than ${limitBytes} bytes.`);
}

async function decode(body: Buffer, encoding: string, decoder: Decoder, limitBytes: number): Promise<Buffer> {
  try {
    return await decoder(body, { maxOutputLength: limitBytes });
  } catch (cause) {
    if (errorCode(cause) === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(limitBytes);
    throw new Fault('bad_compressed_body', `The request body is not valid ${encoding}.`, { cause });
  }
}
