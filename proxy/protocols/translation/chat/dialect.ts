// Chat completions as a protocol to translate from and to.
import type { Dialect } from '../dialect.ts';
import { writeOpenAiError } from '../failures.ts';
import { readAnswer } from './answer-reader.ts';
import { ChatEventWriter, writeAnswer } from './answer-writer.ts';
import { ChatEventReader } from './event-reader.ts';
import { readRequest } from './request-reader.ts';
import { writeRequest } from './request-writer.ts';

export const chatDialect: Dialect = {
  name: 'chat',
  hasCustomTools: false,
  failureEnds: false,
  readRequest,
  writeRequest,
  readAnswer,
  writeAnswer,
  readEvents: () => new ChatEventReader(),
  writeEvents: (context) => new ChatEventWriter(context),
  writeError: writeOpenAiError,
};
