// What becomes of a response whose client does not get the bytes of the upstream. Types only; translated-sink.ts is the code.
import type { Protocol } from '../protocols/protocol.ts';
import type { Translation } from '../protocols/translation/translation.ts';
import type { LastEvent, PriceUsage } from './sse-tap.ts';

/** What becomes of the answer of one attempt. */
export interface TranslatedResponse {
  readonly translation: Pick<Translation, 'answer' | 'error' | 'failureEnds' | 'events'>;
  /** What the client speaks. */
  readonly caller: Protocol;
  /** The client asked for a stream; it gets one, or a document, whatever the upstream sends. */
  readonly isStream: boolean;
  /** The type of a stream as the client gets it. */
  readonly streamType: string;
  /** The last event of its own protocol that the client needs. */
  readonly lastEvent: LastEvent;
  /** What the client is told of the translation, flat. */
  readonly headers: readonly string[];
  /** For a response that fails here although its upstream said it was good, flat. */
  readonly errorHeaders: readonly string[];
  /** The cost that the client reads in the usage of its stream; null: none is written. */
  readonly priceUsage: PriceUsage | null;
}
