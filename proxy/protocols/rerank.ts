// Rerank, `POST /v1/rerank` (docs.cohere.com/reference/rerank), charged by search units.
import { endpoint } from './openai.ts';
import type { Protocol } from './protocol.ts';
import { TASK } from './task.ts';

export const rerank: Protocol = {
  ...TASK,
  name: 'rerank',
  endpoints: [endpoint('rerank', 'arerank')],
};
