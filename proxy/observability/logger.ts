// The log: one JSON object per line on stdout. Records are built from allow-listed values; a header object, a body
// or a Secret is never put into one, so no redaction is needed on the hot path.
import { pino, type DestinationStream, type Logger } from 'pino';
import { accessText, type AccessLine } from './access-log.ts';

/** The log, and beside it the access log: silent where the level is above `info`. */
export type Log = Logger & { readonly access: (line: AccessLine) => void };

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

export interface LogHandle {
  readonly log: Log;
  /** Writes what is buffered; synchronous, so that it can run right before the process exits. */
  readonly flush: () => void;
}

/** What several processes write to one pipe at a time stays in one piece up to here (PIPE_BUF, pipe(7)). */
const WHOLE_BYTES = 4096;

/**
 * Buffers 16 KB or one second, whichever comes first: a write() per line would cost more than the line.
 * @param worker number of a process that shares stdout with others, and therefore writes whole lines of at most 4 KB;
 *   logged in every line, unless it is 0, the supervisor's
 */
export function openLog(level: LogLevel, destination?: DestinationStream, worker?: number): LogHandle {
  if (destination !== undefined) return { log: logInto(destination, level, worker), flush: () => undefined };
  const stdout = pino.destination({ dest: 1, ...piecesOf(worker) });
  return { log: logInto(stdout, level, worker), flush: () => stdout.flushSync() };
}

function logInto(destination: DestinationStream, level: LogLevel, worker = 0): Log {
  const timestamp = isoTimes();
  const log = pino({ level, base: worker === 0 ? null : { worker }, timestamp }, destination);
  const isWritten = log.isLevelEnabled('info');
  const origin = worker === 0 ? '' : `,"worker":${worker}`;
  return Object.assign(log, {
    access: (line: AccessLine): void => {
      if (isWritten) destination.write(accessText(timestamp() + origin, line));
    },
  });
}

/** A supervisor logs little, and writes it at once. */
function piecesOf(worker: number | undefined): Parameters<typeof pino.destination>[0] & object {
  if (worker === undefined) return { sync: false, minLength: 16_000, periodicFlush: 1000 };
  if (worker === 0) return { sync: true };
  return { sync: false, minLength: 3_000, maxWrite: WHOLE_BYTES, periodicFlush: 1000 };
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
