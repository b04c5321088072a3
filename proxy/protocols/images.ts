// Images, `POST /v1/images/*` (platform.openai.com/docs/api-reference/images): by tokens or apiece, as the model is priced.
import { endpoint } from './openai.ts';
import type { Protocol } from './protocol.ts';
import { TASK } from './task.ts';

export const images: Protocol = {
  ...TASK,
  name: 'images',
  endpoints: [
    endpoint('images/generations', 'aimage_generation', { pricedBy: 'images' }),
    endpoint('images/edits', 'aimage_edit', { pricedBy: 'images', body: 'form' }),
    endpoint('images/variations', 'aimage_variation', { pricedBy: 'images', body: 'form' }),
  ],
};
