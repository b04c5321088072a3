// A stream of Gemini's that is asked for without `alt=sse` is one JSON array, whose elements come one by one. The upstream is
// asked for events all the same, which can be read while they pass; the client gets the array. Pure.
import { Buffer } from 'node:buffer';
import { gemini } from './gemini.ts';
import type { EventTranslation, Translation } from './translation/translation.ts';

type ResponseTranslation = Pick<Translation, 'answer' | 'error' | 'events'>;

/** The same translation for a client that wants the array. */
export function asArray(translation: ResponseTranslation): ResponseTranslation {
  return {
    answer: (body) => Buffer.concat([Buffer.from('['), translation.answer(body), Buffer.from(']')]),
    error: (status, body) => translation.error(status, body),
    events: () => new ArrayOfEvents(translation.events()),
  };
}

/** For an upstream that speaks Gemini itself. */
export const UNCHANGED: ResponseTranslation = {
  answer: (body) => Buffer.from(JSON.stringify(body)),
  error: (status, body) => ({ status, body }),
  events: () => ({
    fault: null,
    event: (_name, data) => `data: ${data}\n\n`,
    end: () => '',
    failed: (fault) => gemini.errors.event(fault).toString(),
  }),
};

class ArrayOfEvents implements EventTranslation {
  readonly #events: EventTranslation;
  #hasBegun = false;

  constructor(events: EventTranslation) {
    this.#events = events;
  }

  get fault(): EventTranslation['fault'] {
    return this.#events.fault;
  }

  event(name: string, data: string): string {
    return this.#elements(this.#events.event(name, data));
  }

  end(): string {
    const rest = this.#elements(this.#events.end());
    if (this.fault !== null) return rest; // the error is its last element
    return this.#hasBegun ? `${rest}\n]\n` : '[]\n';
  }

  failed(fault: Parameters<EventTranslation['failed']>[0]): string {
    return `${this.#elements(this.#events.failed(fault))}\n]\n`;
  }

  /** @param events each one a `data:` line and a blank line */
  #elements(events: string): string {
    let text = '';
    for (const event of events.split('\n\n')) {
      if (!event.startsWith('data:')) continue;
      text += `${this.#hasBegun ? ',\r\n' : '['}${event.slice(5).trim()}`;
      this.#hasBegun = true;
    }
    return text;
  }
}
