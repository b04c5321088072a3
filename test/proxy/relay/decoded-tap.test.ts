// Compressed answers read on the side: every coding, damage, cuts and bombs.
import { randomBytes } from 'node:crypto';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import t from 'tap';
import { chat } from '../../../proxy/protocols/chat.ts';
import { codingOf } from '../../../proxy/relay/content-coding.ts';
import { DecodedTap } from '../../../proxy/relay/decoded-tap.ts';
import { JsonTap } from '../../../proxy/relay/json-tap.ts';
import { SseTap } from '../../../proxy/relay/sse-tap.ts';

const USAGE = { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 };
const BODY = Buffer.from(
  JSON.stringify({ id: 'x', model: 'm', choices: [{ text: 'é'.repeat(5_000) }], usage: USAGE }),
);
const CODINGS: [encoding: string, compress: (body: Buffer) => Buffer][] = [
  ['gzip', gzipSync],
  [' X-GZIP', gzipSync],
  ['deflate', deflateSync],
  ['deflate', deflateRawSync],
  ['br', brotliCompressSync],
  ['zstd', zstdCompressSync],
];

async function readThrough(
  encoding: string,
  compressed: Buffer,
  chunkBytes = 10,
): Promise<[DecodedTap, JsonTap]> {
  const inner = new JsonTap(chat.response);
  const tap = new DecodedTap(inner, codingOf(encoding));
  for (let at = 0; at < compressed.length; at += chunkBytes)
    tap.push(compressed.subarray(at, at + chunkBytes));
  await tap.end();
  return [tap, inner];
}

t.test('an answer in each coding is read through', async (t) => {
  for (const [encoding, compress] of CODINGS) {
    const [tap, inner] = await readThrough(encoding, compress(BODY));
    t.notOk(tap.failed, encoding);
    t.strictSame(inner.end(), {
      usage: USAGE,
      tools: {},
      id: 'x',
      model: 'm',
      serviceTier: null,
      duration: undefined,
    });
  }
});

t.test('a stream that is cut is read as far as it came', async (t) => {
  const text = `${'data: {"id":"i","model":"m","choices":[]}\n\n'.repeat(50)}data: {"choices":[],"usage":{"a":1}}\n\n`;
  for (const [encoding, compress] of CODINGS) {
    const inner = new SseTap(chat.events, { stripUsage: false });
    const tap = new DecodedTap(inner, codingOf(encoding));
    const compressed = compress(Buffer.from(text));
    tap.push(compressed.subarray(0, compressed.length - 1));
    await tap.end();
    t.notOk(inner.terminal, 'the inner tap saw no end');
    t.ok(inner.events >= 0 && inner.events <= 51);
  }
});

t.test('damaged bytes and unknown codings end in the flag, not in an error', async (t) => {
  for (const [encoding, compress] of CODINGS.slice(0, 1)) {
    const damaged = compress(BODY);
    damaged.fill(0xff, 12);
    const [tap, inner] = await readThrough(encoding, damaged);
    t.ok(tap.failed);
    t.equal(inner.end().usage, null);
  }
  for (const encoding of ['compress', 'gzip, br', '']) {
    const [tap] = await readThrough(encoding, gzipSync(BODY));
    t.ok(tap.failed, encoding);
  }
});

t.test('nothing pushed is nothing read, and the end may be asked for twice', async (t) => {
  const tap = new DecodedTap(new JsonTap(chat.response), 'gzip');
  tap.push(Buffer.alloc(0));
  await tap.end();
  await tap.end();
  tap.push(gzipSync(BODY));
  t.notOk(tap.failed);
});

t.test('a bomb is inflated up to the bound and no further', async (t) => {
  let seen = 0;
  const inner = { push: (chunk: Buffer) => (seen += chunk.length) };
  const tap = new DecodedTap(inner, 'gzip', { maxInflatedBytes: 1_000_000 });
  const bomb = gzipSync(Buffer.alloc(50_000_000));
  for (let at = 0; at < bomb.length; at += 4_096) tap.push(bomb.subarray(at, at + 4_096));
  await tap.end();
  t.match(tap, { failed: true, isLimited: true });
  t.ok(seen <= 1_000_000 && seen > 0, `${seen} bytes`);
});

t.test('an answer of pictures is read, also where it comes faster than it is inflated', async (t) => {
  const pictures = randomBytes(6_000_000).toString('base64');
  const text = 'x'.repeat(20_000_000);
  for (const content of [pictures, text]) {
    const body = Buffer.from(JSON.stringify({ id: 'x', choices: [{ content }], usage: USAGE }));
    const [tap, inner] = await readThrough('gzip', gzipSync(body, { level: 1 }), 65_536);
    t.match(tap, { failed: false, isLimited: false });
    t.match(inner.end(), { usage: USAGE, id: 'x' });
  }
});

t.test('bytes that come faster than they are decoded are not heaped up', async (t) => {
  const tap = new DecodedTap({ push: () => undefined }, 'gzip');
  const chunk = Buffer.alloc(1_000_000, 7);
  for (let i = 0; i < 17; i++) tap.push(chunk);
  t.match(tap, { failed: true, isLimited: true, damaged: false });
  await tap.end();
});
