// Speech and transcripts: shapes as OpenAI sends them.
import t from 'tap';
import { audio } from '../../../proxy/protocols/audio.ts';
import { readUnits } from '../../../proxy/protocols/usage.ts';
import { named, run, stateOf } from '../relay/fixture/streams.ts';
import { openings, readAnswer, stated } from './fixture/read.ts';

const BY_TOKENS = {
  type: 'tokens',
  input_tokens: 14,
  input_token_details: { text_tokens: 0, audio_tokens: 14 },
  output_tokens: 45,
  total_tokens: 59,
};

t.test('a transcript is charged by tokens, by its usage in seconds, or by its duration', async (t) => {
  const { usage } = readAnswer(audio, { text: 'hello', usage: BY_TOKENS });
  t.strictSame(stated(audio, usage), { prompt: 14, completion: 45, total: 59, inputAudio: 14 });
  const seconds = readAnswer(audio, { text: 'hello', usage: { type: 'duration', seconds: 9.5 } }).usage;
  t.strictSame(readUnits(seconds), { milliseconds: 9_500 });
  t.match(readAnswer(audio, { task: 'transcribe', duration: 8.47, text: 'hello' }), {
    usage: null,
    duration: 8.47,
  });
});

t.test('streams of text and of speech', async (t) => {
  const delta = named('transcript.text.delta', { delta: 'hel' });
  const done = named('transcript.text.done', { text: 'hello', usage: BY_TOKENS });
  t.equal(openings(audio, [delta]), 0);
  t.match(stateOf(run(audio, [delta]).tap), { terminal: false });
  t.match(stateOf(run(audio, [delta, done]).tap), { terminal: true, failed: false, usage: BY_TOKENS });
  const spoken = { input_tokens: 14, output_tokens: 101, total_tokens: 115 };
  const speech = [
    named('speech.audio.delta', { audio: 'UklG' }),
    named('speech.audio.done', { usage: spoken }),
  ];
  t.match(stateOf(run(audio, speech).tap), { terminal: true, usage: spoken });
});

t.test('speech is priced by its characters, the others are uploads', async (t) => {
  t.same(
    audio.endpoints.map(({ path, body, pricedBy }) => [path, body, pricedBy]),
    [
      ['audio/speech', 'json', 'characters'],
      ['audio/transcriptions', 'form', 'tokens'],
      ['audio/translations', 'form', 'tokens'],
    ],
  );
});
