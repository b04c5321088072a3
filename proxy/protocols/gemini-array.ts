// A stream of Gemini's that is asked for without `alt=sse` is one JSON array, whose elements come one by one. The upstream is
// asked for events all the same, which can be read while they pass; the client gets the array. Pure.
import { Buffer } from 'node:buffer';
import { toFault, type Fault } from '../errors/fault.ts';
import { gemini } from './gemini.ts';
import { eventObject } from './translation/failures.ts';
import type { EventTranslation, Translation } from './translation/translation.ts';

type ResponseTranslation = Pick<Translation, 'answer' | 'error' | 'failureEnds' | 'events'>;

/** The same translation for a client that wants the array. */
export function asArray(translation: ResponseTranslation): ResponseTranslation {
  return {
    answer: (body) => Buffer.from(`[${elementsOf(translation.answer(body).toString()).join(',\r\n')}\n]\n`),
    error: (status, body) => translation.error(status, body),
    failureEnds: translation.failureEnds,
    events: () => new ArrayOfEvents(translation.events()),
  };
}

/** For an upstream that speaks Gemini itself. */
export const UNCHANGED: ResponseTranslation = {
  answer: (body) => Buffer.from(`data: ${JSON.stringify(body)}\n\n`),
  error: (status, body) => ({ status, body }),
  failureEnds: false,
  events: () => new UnchangedEvents(),
};

class UnchangedEvents implements EventTranslation {
  #fault: Fault | null = null;

  get fault(): Fault | null {
    return this.#fault;
  }

  /** What is no JSON would spoil the array. */
  event(_name: string, data: string): string {
    if (this.#fault !== null) return '';
    try {
      return eventObject(data) === null ? '' : `data: ${data.replaceAll('\n', ' ')}\n\n`;
    } catch (thrown) {
      this.#fault = toFault(thrown);
      return '';
    }
  }

  end(): string {
    return '';
  }

  failed(fault: Fault): string {
    return gemini.errors.event(fault).toString();
  }
}

class ArrayOfEvents implements EventTranslation {
  readonly #events: EventTranslation;
  #hasBegun = false;

  constructor(events: EventTranslation) {
    this.#events = events;
  }

  get fault(): Fault | null {
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

  failed(fault: Fault): string {
    return `${this.#elements(this.#events.failed(fault))}\n]\n`;
  }

  #elements(events: string): string {
    let text = '';
    for (const element of elementsOf(events)) {
      text += `${this.#hasBegun ? ',\r\n' : '['}${element}`;
      this.#hasBegun = true;
    }
    return text;
  }
}

/** @param events each one a `data:` line and a blank line */
function elementsOf(events: string): readonly string[] {
  return events
    .split('\n\n')
    .filter((event) => event.startsWith('data:'))
    .map((event) => event.slice(5).trim());
}
