// The log: one JSON object per line on stdout. Records are built from allow-listed values; a header object, a body
// or a Secret is never put into one, so no redaction is needed on the hot path.
import { pino, type DestinationStream, type Logger } from 'pino';

export type Log = Logger;

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

export interface LogHandle {
  readonly log: Log;
  /** Writes what is buffered; synchronous, so that it can be the last act of a process. */
  readonly flush: () => void;
}

/** Buffers 16 KB or one second, whichever comes first: a write() per line would cost more than the line. */
export function openLog(level: LogLevel, destination?: DestinationStream): LogHandle {
  const base = { level, base: null, timestamp: isoTimes() };
  if (destination !== undefined) return { log: pino(base, destination), flush: () => undefined };
  const stdout = pino.destination({ dest: 1, sync: false, minLength: 16_000, periodicFlush: 1000 });
  return { log: pino(base, stdout), flush: () => stdout.flushSync() };
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
