// The log: one JSON object per line on stdout. Records are built from allow-listed values; a header object, a body
// or a Secret is never put into one, so no redaction is needed on the hot path.
import { pino, type DestinationStream, type Logger } from 'pino';
import { accessText, type AccessLine } from './access-log.ts';

/** The log, and beside it the access log: silent where the level is above `info`. */
export type Log = Logger & { readonly access: (line: AccessLine) => void };

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

export interface LogHandle {
  readonly log: Log;
  /** Writes what is buffered; synchronous, so that it can be the last act of a process. */
  readonly flush: () => void;
}

/** Buffers 16 KB or one second, whichever comes first: a write() per line would cost more than the line. */
export function openLog(level: LogLevel, destination?: DestinationStream): LogHandle {
  if (destination !== undefined) return { log: logInto(destination, level), flush: () => undefined };
  const stdout = pino.destination({ dest: 1, sync: false, minLength: 16_000, periodicFlush: 1000 });
  return { log: logInto(stdout, level), flush: () => stdout.flushSync() };
}

function logInto(destination: DestinationStream, level: LogLevel): Log {
  const timestamp = isoTimes();
  const log = pino({ level, base: null, timestamp }, destination);
  const isWritten = log.isLevelEnabled('info');
  return Object.assign(log, {
    access: (line: AccessLine): void => {
      if (isWritten) destination.write(accessText(timestamp(), line));
    },
  });
}

/** Pino's `isoTime`, made once per millisecond (a Date costs 1 us, and a busy proxy logs many lines in one). */
function isoTimes(): () => string {
  let lastMs = 0;
  let text = '';
  return () => {
    const now = Date.now();
    if (now !== lastMs) {
      lastMs = now;
      text = `,"time":"${new Date(now).toISOString()}"`;
    }
    return text;
  };
}
