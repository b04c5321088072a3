// Speech and transcripts, `POST /v1/audio/*` (platform.openai.com/docs/api-reference/audio): by characters, tokens or time.
import { endpoint } from './openai.ts';
import type { Protocol } from './protocol.ts';
import { TASK } from './task.ts';

export const audio: Protocol = {
  ...TASK,
  name: 'audio',
  endpoints: [
    endpoint('audio/speech', 'aspeech', { pricedBy: 'characters' }),
    endpoint('audio/transcriptions', 'atranscription', { body: 'form' }),
    endpoint('audio/translations', 'atranslation', { body: 'form' }),
  ],
};
