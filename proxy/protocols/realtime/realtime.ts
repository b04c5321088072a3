// Realtime sessions, `GET /v1/realtime?model=...` (platform.openai.com/docs/guides/realtime): a WebSocket whose messages are
// events in JSON. The events pass as they are; frames.ts and member-scanner.ts read what the proxy has to know.
import { endpoint } from '../openai.ts';
import type { Endpoint, Protocol } from '../protocol.ts';
import { ANY_CALL } from '../query.ts';
import { TASK } from '../task.ts';
import { readRealtimeTokens } from './usage.ts';

export const realtime: Protocol = {
  ...TASK,
  name: 'realtime',
  endpoints: [], // it takes no POST
  readTokens: readRealtimeTokens,
};

/** The `model` of the query is written anew. */
export const REALTIME: Endpoint = {
  ...endpoint('realtime', 'realtime', { query: ANY_CALL }),
  protocol: realtime,
};

/** Subprotocols that go upstream; others may hold a key, an organization or a project, which are the entry's to state. */
const SUBPROTOCOL = /^(?:realtime|openai-beta\.[\w-]{1,64})$/;

/** What a client offers in all of its `Sec-WebSocket-Protocol`, without what never goes upstream. */
export function subprotocolsOf(headers: readonly string[]): readonly string[] {
  const offered = headers.flatMap((value) => value.split(',').map((one) => one.trim()));
  // Servers refuse one that stands twice (RFC 6455 section 4.1).
  return [...new Set(offered.filter((one) => SUBPROTOCOL.test(one)))];
}
