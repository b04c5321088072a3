// The key of an entry in what a gateway says of an error: no client gets to see it, and nothing else changes.
import { Buffer } from 'node:buffer';
import { gzipSync } from 'node:zlib';
import t from 'tap';
import { Secret } from '../../../config/secret.ts';
import type { Json } from '../../../proxy/bodies/json.ts';
import { chat } from '../../../proxy/protocols/chat.ts';
import {
  concealed,
  concealInBytes,
  concealInHeaders,
  concealInReading,
  concealInText,
} from '../../../proxy/relay/conceal-key.ts';
import { SseTap } from '../../../proxy/relay/sse-tap.ts';
import { NOTHING_READ } from '../../../proxy/relay/tap.ts';

const KEY = new Secret('sk-key-of-the-entry');
const SAID = '{"error":"sk-key-of-the-entry is wrong: sk-key-of-the-entry"}';
const SHOWN = '{"error":"******************* is wrong: *******************"}';

t.test('bytes and headers keep their length', async (t) => {
  const bytes = Buffer.from(SAID);
  concealInBytes(bytes, KEY);
  t.equal(String(bytes), SHOWN);
  const list = ['x-echo', 'Bearer sk-key-of-the-entry', 'x-short', 'sk-key'];
  concealInHeaders(list, KEY);
  t.same(list, ['x-echo', 'Bearer *******************', 'x-short', 'sk-key']);
  const escaped = ['x-echo', '"sk-a\\/b+c\\/d==e"'];
  concealInHeaders(escaped, new Secret('sk-a/b+c/d==e'));
  t.same(escaped, ['x-echo', '"***************"']);
});

t.test('a slash may be written in two ways', async (t) => {
  const bytes = Buffer.from('{"error":"sk-a/b+c/d==e is wrong: sk-a\\/b+c\\/d==e"}');
  concealInBytes(bytes, new Secret('sk-a/b+c/d==e'));
  t.equal(String(bytes), '{"error":"************* is wrong: ***************"}');
});

t.test('texts keep their length, and a slash may be written in two ways there, too', async (t) => {
  t.equal(concealInText('is sk-key-of-the-entry wrong', KEY), 'is ******************* wrong');
  const slashed = new Secret('sk-a/b+c/d==e');
  t.equal(concealInText('sk-a/b+c/d==e sk-a\\/b+c\\/d==e', slashed), '************* ***************');
  t.equal(concealInText('sk-a\\/b+c\\/d==e', slashed), '***************');
  for (const text of ['sk-a/b+c/d==', 'sk-a\\/b+c/d==e', 'a sentence without any key'])
    t.equal(concealInText(text, slashed), text);
});

t.test(
  'of what was read of an answer nothing else changes, also where it is read when it is asked for',
  async (t) => {
    const usage = { prompt_tokens: 1 };
    const plain = { ...NOTHING_READ, usage, id: 'a', model: 'b', serviceTier: 'c' };
    t.equal(concealInReading(plain, KEY), plain);
    class OfStream extends SseTap {
      override get usage(): Json {
        return usage;
      }
      override get model(): string {
        return 'sk-key-of-the-entry';
      }
    }
    const wanted = { stripUsage: false, keepText: false, lastEvent: 'finish' } as const;
    for (const reading of [{ ...plain, model: 'sk-key-of-the-entry' }, new OfStream(chat.events, wanted)])
      t.match(concealInReading(reading, KEY), { usage, usageIsPartial: false, model: '*******************' });
  },
);

t.test('what is compressed is so no more where it held the key', async (t) => {
  t.equal(String(concealed(gzipSync(SAID), 'gzip', KEY)), SHOWN);
  t.equal(String(concealed(Buffer.from(SAID), null, KEY)), SHOWN);
  t.equal(concealed(gzipSync('{}'), 'gzip', KEY), null);
  t.equal(concealed(Buffer.from('no gzip'), 'gzip', KEY), null);
});

t.test('words that a gateway without keys is given are no secret', async (t) => {
  for (const key of [null, new Secret('none'), new Secret('sk-1234')]) {
    const bytes = Buffer.from('none of sk-1234');
    concealInBytes(bytes, key);
    t.equal(String(bytes), 'none of sk-1234');
    t.equal(concealed(bytes, null, key), null);
  }
});
