// The thread that counts tokens. It holds no text longer than a call takes, and logs none.
import { serveCalls } from '../../base/worker-rpc.ts';
import type { Family } from '../../errors/body.ts';
import type { Delivered } from '../../wire/sample.ts';
import { TOKENIZER, tokensIn } from './count.ts';
import { answerTexts, promptTexts, type Texts } from './text.ts';

/** What is to be counted; its buffers are moved to the thread. */
export interface CountRequest {
  readonly family: Family;
  /** The beginning of the request's body as it went upstream. */
  readonly request: Uint8Array;
  /** How many bytes the whole body has. */
  readonly requestBytes: number;
  /** null: only the prompt is asked for. */
  readonly answer: Delivered | null;
}

export interface Estimate {
  readonly prompt: number;
  readonly completion: number;
  /** The tokenizer's name, or `bytes`. */
  readonly by: string;
}

export interface CountCalls {
  count(request: CountRequest): Promise<Estimate>;
}

function sum({ texts, tokens }: Texts): number {
  return texts.reduce((sum, text) => sum + tokensIn(text), tokens);
}

function scale(tokens: number, seenBytes: number, allBytes: number): number {
  return seenBytes === 0 ? 0 : Math.round((tokens * allBytes) / seenBytes);
}

function count({ family, request, requestBytes, answer }: CountRequest): Estimate {
  const prompt = sum(promptTexts(Buffer.from(request).toString('utf8')));
  const completion = answer === null ? 0 : sum(answerTexts(answer, family));
  return {
    prompt: scale(prompt, request.length, requestBytes),
    completion: answer === null ? 0 : scale(completion, answer.head.length, answer.bytes),
    by: TOKENIZER,
  };
}

serveCalls<CountCalls>({ methods: () => ({ count }) });
