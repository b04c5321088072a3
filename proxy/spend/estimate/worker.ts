// The thread that counts: one question in, one answer out. It holds no text longer than a question takes, and logs none.
import { parentPort } from 'node:worker_threads';
import type { Family } from '../../errors/body.ts';
import type { Delivered } from '../../wire/sample.ts';
import { TOKENIZER, tokensIn } from './count.ts';
import { answerTexts, promptTexts, type Texts } from './text.ts';

export interface Question {
  readonly id: number;
  readonly family: Family;
  /** The beginning of the request's body as it went upstream. */
  readonly request: Uint8Array;
  /** How many bytes the whole body has. */
  readonly requestBytes: number;
  /** null: only the prompt is asked for. */
  readonly answer: Delivered | null;
}

export interface Answer {
  readonly id: number;
  readonly prompt: number;
  readonly completion: number;
  /** Name of the vocabulary. */
  readonly by: string;
}

function count({ texts, tokens }: Texts): number {
  return texts.reduce((sum, text) => sum + tokensIn(text), tokens);
}

parentPort?.on('message', ({ id, family, request, requestBytes, answer }: Question) => {
  const scale = (tokens: number, seen: number, all: number): number =>
    seen === 0 ? 0 : Math.round((tokens * all) / seen);
  const prompt = scale(
    count(promptTexts(Buffer.from(request).toString('utf8'))),
    request.length,
    requestBytes,
  );
  const completion =
    answer === null ? 0 : scale(count(answerTexts(answer, family)), answer.head.length, answer.bytes);
  parentPort?.postMessage({ id, prompt, completion, by: TOKENIZER } satisfies Answer);
});
