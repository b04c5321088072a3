// One upstream request as the relay takes it: all that was decided before the first byte. Values only.
import type { Secret } from '../../config/secret.ts';
import type { Clocks, ReadOn } from '../../config/snapshot.ts';
import type { ResponseNames } from '../headers/response-headers.ts';
import type { ErrorShape, Protocol } from '../protocols/protocol.ts';
import type { Pool } from '../upstream/pool.ts';
import type { Observation } from './tap.ts';
import type { TranslatedResponse } from './translated-response.ts';
import type { HttpRequest } from '../upstream/exchange.ts';

/** One upstream request, ready to send. */
export interface UpstreamRequest extends HttpRequest {
  readonly pool: Pick<Pool, 'send'>;
  /** Called once the system has the whole body: its memory may be used for something else. */
  readonly bodySent: () => void;
  readonly origin: string;
  /** Shown in texts; holds no credential. */
  readonly apiBase: string;
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly clocks: Clocks;
  /** The first-byte clock of this call, ms (streamed calls have their own). */
  readonly firstByteMs: number;
  /** Who set it: a deadline of the client's says nothing about the upstream. */
  readonly firstByteOf: 'entry' | 'client';
  /** The first-token clock of this call, ms; 0 = off, as for all that is not streamed. */
  readonly firstTokenMs: number;
  /** The client has asked for a stream. */
  readonly wantsStream: boolean;
  /** Nothing of a stream goes to the client before its first token, so that another upstream can take over. */
  readonly holdsHead: boolean;
  /** What becomes of it when the client leaves; null: it is aborted. */
  readonly readOn: ReadOn | null;
  /** The one that the upstream speaks. */
  readonly protocol: Protocol;
  /** The client speaks another protocol; null: it gets the bytes of the upstream. */
  readonly translated: TranslatedResponse | null;
  /** How the client is told of a stream that broke. */
  readonly errors: ErrorShape;
  /** A response that is no stream and no longer than this is kept until its end, bytes. */
  readonly gatherBytes: number;
  /** What is wanted of the answer beside its bytes. */
  readonly observation: Observation;
  /** Where the gateway states its cost and call id. */
  readonly answerNames: ResponseNames;
  /** What the names of the proxy's own response headers begin with, lower-case. */
  readonly ownPrefix: string;
  /** The page of the console calls: a browser, on the origin of the proxy. */
  readonly isForThePage: boolean;
  /** The key of the entry, which no client gets to see. */
  readonly apiKey: Secret | null;
}
