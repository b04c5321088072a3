// Embeddings, `POST /v1/embeddings` (platform.openai.com/docs/api-reference/embeddings). The response holds no text.
import { endpoint } from './openai.ts';
import type { Protocol } from './protocol.ts';
import { TASK } from './task.ts';

export const embeddings: Protocol = {
  ...TASK,
  name: 'embeddings',
  endpoints: [endpoint('embeddings', 'aembedding', { counted: 'prompt' })],
};
