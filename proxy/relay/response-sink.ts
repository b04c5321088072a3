// Where a relay puts an answer: the client's reply itself, or what stands before it and looks the same (floor.ts,
// scribe.ts). The relay never knows which.
import type { DownstreamResponse } from '../downstream/downstream-response.ts';

/** What the relay needs of a reply. */
export type ResponseSink = Pick<
  DownstreamResponse,
  | 'watcher'
  | 'destroyed'
  | 'interrupted'
  | 'keeps'
  | 'writeHead'
  | 'flushHeaders'
  | 'write'
  | 'end'
  | 'destroy'
>;
