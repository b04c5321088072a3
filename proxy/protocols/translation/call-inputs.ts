// JSON inside of JSON: the arguments of tool calls, which some protocols hold as a text and others as an object. A scan of the
// whole takes such a text for one value, so its values are counted here, before it is built.
import { MOST_BUILT_VALUES } from '../../bodies/members.ts';
import { VALUE_BYTES, valuesIn } from '../../bodies/peek.ts';
import { Fault } from '../../errors/fault.ts';
import { badAnswer } from './failures.ts';
import type { Turn } from './form.ts';

const TOO_MANY = `the arguments of its tool calls hold more than ${MOST_BUILT_VALUES} values.`;

/** The inputs of one request or one answer: together they have as many values as may be built. */
class CallInputs {
  /** Not counted, since all of them are too short to hold more. */
  #short: string[] = [];
  #chars = 0;
  #values = 0;

  /** @returns false: with this one there are too many values */
  take(input: string): boolean {
    this.#short.push(input);
    this.#chars += input.length;
    if (this.#chars <= VALUE_BYTES * MOST_BUILT_VALUES) return true;
    const uncounted = this.#short;
    this.#short = [];
    return uncounted.every((text) => this.#count(text));
  }

  #count(text: string): boolean {
    const values = valuesIn(text, MOST_BUILT_VALUES - this.#values);
    this.#values += values ?? 0;
    return values !== null;
  }
}

/** @throws Fault for a request with more in its calls than may be built */
export function checkRequestInputs(turns: readonly Turn[]): void {
  const inputs = new CallInputs();
  for (const { parts } of turns)
    for (const part of parts)
      if (part.kind === 'call' && part.form === 'json' && !inputs.take(part.input))
        throw new Fault('body_too_complex', `The body cannot be translated: ${TOO_MANY}`);
}

/** Of one answer. */
export class AnswerInputs {
  readonly #inputs = new CallInputs();

  /** Call it before `input` is parsed. @throws Fault for an answer with more in its calls than may be built */
  check(input: string): void {
    if (!this.#inputs.take(input)) throw badAnswer(TOO_MANY);
  }
}
