// Anthropic's messages as a protocol to translate from and to.
import type { Dialect } from '../dialect.ts';
import { MessagesEventReader, readAnswer } from './answer-reader.ts';
import { MessagesEventWriter, writeAnswer, writeError } from './answer-writer.ts';
import { readRequest } from './request-reader.ts';
import { writeRequest } from './request-writer.ts';

export const messagesDialect: Dialect = {
  name: 'messages',
  hasCustomTools: false,
  failureEnds: false,
  readRequest,
  writeRequest,
  readAnswer,
  writeAnswer,
  readEvents: () => new MessagesEventReader(),
  writeEvents: (context) => new MessagesEventWriter(context),
  writeError,
};
