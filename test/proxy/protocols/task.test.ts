// What embeddings, images, audio, moderations and rerank share: where usage may stand, and how a stream ends.
import t from 'tap';
import { audio } from '../../../proxy/protocols/audio.ts';
import { embeddings } from '../../../proxy/protocols/embeddings.ts';
import { images } from '../../../proxy/protocols/images.ts';
import { moderations } from '../../../proxy/protocols/moderations.ts';
import { rerank } from '../../../proxy/protocols/rerank.ts';
import { DONE, data, named, run, stateOf } from '../relay/fixture/streams.ts';
import { readAnswer } from './fixture/read.ts';

const USAGE = { input_tokens: 1, output_tokens: 2 };

t.test('a stream ends with [DONE] or with a type that says so', async (t) => {
  for (const protocol of [audio, embeddings, images, moderations, rerank]) {
    for (const type of ['transcript.text.done', 'image_generation.completed', 'speech.audio.done']) {
      const { tap } = run(protocol, [
        named('transcript.text.delta', { delta: 'x.done' }),
        data({ type, usage: USAGE }),
      ]);
      t.match(stateOf(tap), { terminal: true, finished: false, failed: false, usage: USAGE }, type);
    }
    t.match(stateOf(run(protocol, [named('job.failed', {})]).tap), { finished: true, failed: true });
    t.match(stateOf(run(protocol, [data({ b64_json: '' }), DONE]).tap), { terminal: true, finished: true });
    t.notOk(run(protocol, [named('image_generation.partial_image', {})]).tap.terminal);
  }
});

t.test('usage stands at the top level, below the object of the event, or in `meta`', async (t) => {
  const below = data({ type: 'x.completed', response: { usage: USAGE } });
  t.strictSame(run(images, [below]).tap.usage, USAGE);
  const meta = { billed_units: { input_tokens: 4 }, tokens: { input_tokens: 5 } };
  t.strictSame(readAnswer(embeddings, { meta }).usage, { input_tokens: 5 });
  t.strictSame(readAnswer(embeddings, { meta, usage: USAGE }).usage, USAGE, 'its own usage wins');
});
