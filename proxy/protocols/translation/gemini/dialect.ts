// Gemini's generateContent as a protocol to translate from and to.
import type { Dialect } from '../dialect.ts';
import { GeminiEventReader, readAnswer } from './answer-reader.ts';
import { GeminiEventWriter, writeAnswer, writeError } from './answer-writer.ts';
import { readRequest } from './request-reader.ts';
import { writeRequest } from './request-writer.ts';

export const geminiDialect: Dialect = {
  name: 'gemini',
  hasCustomTools: false,
  failureEnds: false,
  readRequest,
  writeRequest,
  readAnswer,
  writeAnswer,
  readEvents: () => new GeminiEventReader(),
  writeEvents: (context) => new GeminiEventWriter(context),
  writeError,
};
