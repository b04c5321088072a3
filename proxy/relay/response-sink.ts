// Where a relay writes a response: to the client itself, or to what stands before it and looks the same (first-wins.ts,
// resumable-sink.ts). The relay never knows which.
import type { DownstreamResponse } from '../downstream/downstream-response.ts';

/** What the relay needs of the client's side. */
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
