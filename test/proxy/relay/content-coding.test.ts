import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import t from 'tap';
import { codingOf, inflated, isCompressed, isEventStream } from '../../../proxy/relay/content-coding.ts';

const BODY = Buffer.from('{"a":1}'.repeat(50));

t.test('a body in each coding is inflated, raw deflate among them', (t) => {
  const codings: [string | null, (body: Buffer) => Buffer][] = [
    [null, (body) => body],
    ['identity', (body) => body],
    [' GZip ', gzipSync],
    ['x-gzip', gzipSync],
    ['deflate', deflateSync],
    ['deflate', deflateRawSync],
    ['br', brotliCompressSync],
    ['zstd', zstdCompressSync],
  ];
  for (const [coding, compress] of codings)
    t.same(inflated(compress(BODY), coding, BODY.length), BODY, String(coding));
  t.end();
});

t.test('what is damaged, larger than allowed or in an unknown coding is not inflated', (t) => {
  t.equal(inflated(BODY, 'gzip', BODY.length), null, 'damaged');
  t.equal(inflated(gzipSync(BODY), 'gzip', BODY.length - 1), null, 'too large');
  t.equal(inflated(gzipSync(BODY), 'gzip, br', BODY.length), null, 'two in a row');
  t.equal(inflated(BODY, 'constructor', BODY.length), null, 'unknown');
  t.end();
});

t.test('headers say whether a body is an event stream, and whether it is compressed', (t) => {
  t.ok(isEventStream(['content-type', 'Text/Event-Stream; charset=utf-8']));
  t.notOk(isEventStream(['content-type', 'application/json']));
  t.notOk(isEventStream(['x', 'content-type', 'y', 'text/event-stream']), 'a value is no name');
  t.ok(isCompressed(['content-encoding', 'gzip']));
  for (const none of ['Identity', 'utf-8', 'UTF8', 'none', ' None '])
    t.notOk(isCompressed(['content-encoding', none]), none);
  t.notOk(isCompressed([]));
  t.equal(codingOf(null), '');
  t.end();
});
