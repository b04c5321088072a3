// The protocols that the proxy speaks: one line each. Their order is that of the endpoints in listings.
import { audio } from './audio.ts';
import { chat } from './chat.ts';
import { completions } from './completions.ts';
import { embeddings } from './embeddings.ts';
import { gemini } from './gemini.ts';
import { images } from './images.ts';
import { messages } from './messages.ts';
import { moderations } from './moderations.ts';
import type { Endpoint, Protocol, StoredResponseRow } from './protocol.ts';
import { realtime } from './realtime/realtime.ts';
import { rerank } from './rerank.ts';
import { responses } from './responses.ts';

export const PROTOCOLS: readonly Protocol[] = [
  chat,
  completions,
  embeddings,
  responses,
  messages,
  gemini,
  images,
  audio,
  moderations,
  rerank,
  realtime,
];

/** POST endpoints that name a model. */
export const ENDPOINTS: readonly Endpoint[] = PROTOCOLS.flatMap((protocol) =>
  protocol.endpoints.map((row): Endpoint => ({ ...row, protocol })),
);

/** One operation on a stored response, with the endpoint that its record is charged by. */
export interface StoredResponseCall extends StoredResponseRow {
  readonly endpoint: Endpoint;
}

/** The operations on stored responses, by method and suffix; these calls go to the upstream that made the response. */
export const BY_ID: readonly StoredResponseCall[] = PROTOCOLS.flatMap((protocol) =>
  protocol.stored.map((row) => ({ ...row, endpoint: { ...row.endpoint, protocol } })),
);

/** @throws Error for a name that no protocol has, which only a bug can pass */
export function protocolNamed(name: string): Protocol {
  const found = PROTOCOLS.find((one) => one.name === name);
  if (found === undefined) throw new Error(`there is no protocol ${name}`);
  return found;
}
