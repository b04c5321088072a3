// Moderations, `POST /v1/moderations` (platform.openai.com/docs/api-reference/moderations). They state no usage.
import { endpoint } from './openai.ts';
import type { Protocol } from './protocol.ts';
import { TASK } from './task.ts';

export const moderations: Protocol = {
  ...TASK,
  name: 'moderations',
  endpoints: [endpoint('moderations', 'amoderation')],
};
