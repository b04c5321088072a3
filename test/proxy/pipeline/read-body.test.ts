import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import t from 'tap';
import type { Test } from 'tap';
import { Fault } from '../../../proxy/errors/fault.ts';
import { readBody } from '../../../proxy/pipeline/read-body.ts';
import { exchangeOf, servicesOf, liveOf, type Sent } from '../../support/services.ts';

const MB = 1_048_576;

async function reader(t: Test, more = ''): Promise<(sent: Sent) => Promise<Buffer>> {
  const active = liveOf(
    t,
    `model_list: []\ngeneral_settings: { max_request_size_mb: 1${more} }`,
    await servicesOf(t),
  );
  return async (sent) => (await readBody((await exchangeOf(t, active, sent)).x)).bytes;
}

const codeOf = async (reading: Promise<Buffer>): Promise<string> => {
  try {
    return `none: ${(await reading).length} bytes`;
  } catch (thrown) {
    return thrown instanceof Fault ? thrown.code : String(thrown);
  }
};

t.test('a body comes out as it was sent, announced or in chunks', async (t) => {
  const read = await reader(t);
  const big = Buffer.from(Array.from({ length: MB }, (_, i) => i & 0xff));
  const announced = { 'content-length': String(big.length) };
  t.ok((await read({ body: big, headers: announced })).equals(big), 'exactly the limit');
  const parts = Array.from({ length: 64 }, (_, n) => big.subarray(n * 16_384, (n + 1) * 16_384));
  t.ok((await read({ body: parts, headers: { 'transfer-encoding': 'chunked' } })).equals(big));
  t.equal(String(await read({ body: 'x' })), 'x');
  t.equal((await read({ body: '' })).length, 0);
});

t.test(
  'a body over the limit is refused: announced before it is read, chunked as soon as it is over',
  async (t) => {
    const read = await reader(t);
    t.equal(
      await codeOf(read({ body: null, headers: { 'content-length': String(MB + 1) } })),
      'body_too_large',
    );
    const parts = Array.from({ length: 65 }, () => Buffer.alloc(16_384));
    t.equal(
      await codeOf(read({ body: parts, headers: { 'transfer-encoding': 'chunked' } })),
      'body_too_large',
    );
  },
);

t.test('a client that leaves in the middle of its body is told apart', async (t) => {
  const active = liveOf(t, 'model_list: []', await servicesOf(t));
  const { x, leave } = await exchangeOf(t, active, { body: null, headers: { 'content-length': '10' } });
  const reading = codeOf(readBody(x).then(({ bytes }) => bytes));
  leave();
  t.equal(await reading, 'client_gone');
});

t.test('a compressed body is refused unless it is wanted', async (t) => {
  const read = await reader(t);
  for (const encoding of ['gzip', 'br', 'deflate', 'zstd', 'x-gzip', 'gzip, br', 'nonsense']) {
    t.equal(
      await codeOf(read({ body: 'x', headers: { 'content-encoding': encoding } })),
      'compressed_body',
      encoding,
    );
  }
  t.equal(String(await read({ body: 'x', headers: { 'content-encoding': 'Identity' } })), 'x');
  await t.rejects(read({ body: 'x', headers: { 'content-encoding': 'br' } }), {
    message: /br is not taken: send it uncompressed; .*general_settings\.accept_compressed_requests\.$/,
  });
});

t.test('where it is wanted, every known encoding is inflated, within its bound', async (t) => {
  const read = await reader(t, ', accept_compressed_requests: { max_inflated_mb: 2 }');
  const text = Buffer.from('{"model":"m"}'.repeat(1_000));
  for (const [encoding, pack] of [
    ['gzip', gzipSync],
    ['X-Gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['zstd', zstdCompressSync],
  ] as const) {
    const headers = { 'content-encoding': encoding };
    t.ok((await read({ body: pack(text), headers })).equals(text), encoding);
    t.equal(
      await codeOf(read({ body: pack(Buffer.alloc(2 * MB + 1)), headers })),
      'body_too_large',
      `${encoding} bomb`,
    );
    t.equal(await codeOf(read({ body: 'not packed', headers })), 'bad_compressed_body', encoding);
    t.equal(
      await codeOf(read({ body: pack(text).subarray(0, -3), headers })),
      'bad_compressed_body',
      `${encoding} cut`,
    );
  }
  t.equal(await codeOf(read({ body: 'x', headers: { 'content-encoding': 'gzip, br' } })), 'compressed_body');
});
