// What becomes of an exchange whose client has left: ended, read on without it, or aborted. Decides, and does nothing.
import { END_WITHIN_MS, type StreamEnding } from './stream-end.ts';
import type { Tap } from './tap.ts';
import type { UpstreamRequest } from './upstream-request.ts';

/** What of a relay's stage decides. */
export type Left =
  | { readonly is: 'connecting' | 'waiting' | 'gathering' | 'holding' }
  | {
      readonly is: 'flowing';
      readonly ending: Pick<StreamEnding, 'isDelivered'>;
      readonly response: { readonly tap: Pick<Tap, 'finished'> };
    };

/** What follows. */
type AfterClient =
  /** The last event has come, and the client has it. */
  | { readonly is: 'finished' }
  | {
      readonly is: 'read-on';
      /** The client left with everything; what may be missing is for the record. */
      readonly isDelivered: boolean;
      /** So long at most. */
      readonly ms: number;
      /** Not where so many are read on already. */
      readonly most: number;
    }
  | { readonly is: 'aborted' };

const FINISHED: AfterClient = { is: 'finished' };
const ABORTED: AfterClient = { is: 'aborted' };
const DELIVERED: AfterClient = { is: 'read-on', isDelivered: true, ms: END_WITHIN_MS, most: Infinity };

/** @param isKept the response is kept for a repeated call */
export function afterClientLeft(
  stage: Left,
  { readOn }: Pick<UpstreamRequest, 'readOn'>,
  isKept: boolean,
): AfterClient {
  if (stage.is === 'flowing' && stage.ending.isDelivered)
    return stage.response.tap.finished ? FINISHED : DELIVERED;
  // What was asked for is paid for, read or not: it is read on for the usage, if the deployment says so.
  if (readOn === null) return ABORTED;
  // Before the request is out nothing is owed; but a response that is kept will be asked for again.
  if (stage.is === 'connecting' && !isKept) return ABORTED;
  return { is: 'read-on', isDelivered: false, ms: readOn.ms, most: readOn.most };
}
