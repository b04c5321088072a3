// Images: shapes as OpenAI sends them.
import t from 'tap';
import { images } from '../../../proxy/protocols/images.ts';
import { named, run, stateOf } from '../relay/fixture/streams.ts';
import { openings, readAnswer, stated } from './fixture/read.ts';

const USAGE = {
  total_tokens: 1_120,
  input_tokens: 64,
  output_tokens: 1_056,
  input_tokens_details: { text_tokens: 50, image_tokens: 14 },
};

t.test('usage of a JSON answer, and none where images are sold apiece', async (t) => {
  const { usage } = readAnswer(images, {
    created: 1_760_000_000,
    data: [{ b64_json: 'iVBOR' }],
    usage: USAGE,
  });
  t.strictSame(stated(images, usage), { prompt: 64, completion: 1_056, total: 1_120, inputImage: 14 });
  t.equal(readAnswer(images, { created: 1, data: [{ url: 'https://x' }] }).usage, null);
});

t.test('a stream of pictures: each partial one is an answer, the completed one the end', async (t) => {
  const partial = named('image_generation.partial_image', { b64_json: 'iVBOR', partial_image_index: 0 });
  const completed = named('image_generation.completed', { b64_json: 'iVBOR', usage: USAGE });
  t.equal(openings(images, [': ping\n\n', partial]), 1);
  t.match(stateOf(run(images, [partial]).tap), { terminal: false, usage: null });
  t.match(stateOf(run(images, [partial, completed]).tap), { terminal: true, usage: USAGE });
});

t.test('edits and variations are uploads', async (t) => {
  t.same(
    images.endpoints.map(({ path, body, pricedBy }) => [path, body, pricedBy]),
    [
      ['images/generations', 'json', 'images'],
      ['images/edits', 'form', 'images'],
      ['images/variations', 'form', 'images'],
    ],
  );
});
