// The end of an answer in which the model refuses, for protocols that have no member for what it says then.
import type { AnswerPart, End } from './form.ts';

export const hasRefusal = (parts: readonly AnswerPart[]): boolean =>
  parts.some(({ kind }) => kind === 'refusal');

/** OpenAI's call such an answer finished, and tell the refusal by its member. Elsewhere the text alone would be an answer as any other. */
export const toldByEnd = (end: End, isRefused: boolean): End =>
  isRefused && end.reason === 'stop' ? { ...end, reason: 'filter' } : end;
