// Responses as a protocol to translate from and to.
import type { Dialect } from '../dialect.ts';
import { writeOpenAiError } from '../failures.ts';
import { readAnswer } from './answer-reader.ts';
import { ResponsesEventWriter, writeAnswer } from './answer-writer.ts';
import { ResponsesEventReader } from './event-reader.ts';
import { readRequest } from './request-reader.ts';
import { writeRequest } from './request-writer.ts';

export const responsesDialect: Dialect = {
  name: 'responses',
  hasCustomTools: true,
  failureEnds: true,
  readRequest,
  writeRequest,
  readAnswer,
  writeAnswer,
  readEvents: () => new ResponsesEventReader(),
  writeEvents: (context) => new ResponsesEventWriter(context),
  writeError: writeOpenAiError,
};
