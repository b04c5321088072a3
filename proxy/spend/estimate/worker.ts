// The thread that counts tokens. It holds no text longer than a call takes, and logs none.
import { serveCalls } from '../../base/worker-rpc.ts';
import { protocolNamed } from '../../protocols/table.ts';
import { answerTexts, promptTexts, type Delivered, type Texts } from '../../protocols/text.ts';
import { TOKENIZER, tokensIn } from './count.ts';

/** What is to be counted; its buffers are moved to the thread. */
export interface CountRequest {
  /** The protocol's name: an object with functions cannot be sent to a thread. */
  readonly protocol: string;
  /** The beginning of the request's body as it went upstream. */
  readonly request: Uint8Array;
  /** How many bytes the whole body has. */
  readonly requestBytes: number;
  /** null: count the prompt only. */
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

function count({ protocol, request, requestBytes, answer }: CountRequest): Estimate {
  const rules = protocolNamed(protocol).text;
  const prompt = sum(promptTexts(Buffer.from(request).toString('utf8'), rules));
  const completion = answer === null ? 0 : sum(answerTexts(answer, rules));
  return {
    prompt: scale(prompt, request.length, requestBytes),
    completion: answer === null ? 0 : scale(completion, answer.head.length, answer.bytes),
    by: TOKENIZER,
  };
}

serveCalls<CountCalls>({ methods: () => ({ count }) });
