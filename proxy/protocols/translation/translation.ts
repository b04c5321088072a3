// One call in another protocol: the caller speaks one API, the upstream another. Reads the caller's request into one
// intermediate form and writes it for the upstream; answers, streams and errors go the other way. Pure: no I/O.
import type { Buffer } from 'node:buffer';
import type { Json } from '../../bodies/json.ts';
import type { Fault } from '../../errors/fault.ts';
import type { Endpoint, Protocol } from '../protocol.ts';

export interface TranslationOptions {
  /** The name that goes upstream. */
  readonly model: string;
  readonly stream: boolean;
  /** Members that cannot be carried: true drops and names them, false refuses with 400. */
  readonly dropParams: boolean;
  /** `max_tokens` for a protocol that requires one, where the caller states none. */
  readonly defaultMaxTokens: number;
  /** Keys prompts to a cache where the upstream's protocol has a member for it; null = none. */
  readonly sessionId: string | null;
}

/** One call in another protocol; made per attempt. */
export interface Translation {
  /** The upstream's endpoint. */
  readonly endpoint: Endpoint;
  readonly body: Buffer;
  /** Dotted paths of members that were dropped. */
  readonly dropped: readonly string[];
  /**
   * A whole 2xx answer of the upstream in the caller's protocol.
   * @throws Fault bad upstream answer
   */
  answer(body: Json): Buffer;
  /** An error answer in the caller's shape; its status may change (529 -> 503). */
  error(status: number, body: Buffer): { readonly status: number; readonly body: Buffer };
  /** Translates one stream. */
  events(): EventTranslation;
}

/** The state of one stream. */
export interface EventTranslation {
  /** Whole events for the client, '' when this one says nothing to it. */
  event(name: string, data: string): string;
  /** After the upstream's terminal event and the end of its stream: what is still owed. */
  end(): string;
  /** The stream broke: the caller's protocol's error event. */
  failed(fault: Fault): string;
}

/**
 * @param from what the caller asked for
 * @returns null: this pair cannot be translated (embeddings, audio ...)
 * @throws Fault 400 for what cannot be carried, or a request that is wrong in its own protocol
 */
export function translate(
  from: Endpoint,
  to: Protocol,
  request: Json,
  options: TranslationOptions,
): Translation | null {
  void [from, to, request, options];
  return null;
}
