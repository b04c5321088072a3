// The log: one JSON object per line on stdout. Records are built from allow-listed values; a header object, a body
// or a Secret is never put into one, so no redaction is needed on the hot path.
import { fstatSync } from 'node:fs';
import { pino, type DestinationStream, type Logger } from 'pino';
import { accessText, type AccessLine } from './access-log.ts';
import type { LineLevel } from './failure.ts';
import { LogOutput } from './log-output.ts';

/** The log, and beside it the access log, whose lines are written where the level allows theirs. */
export type Log = Logger & {
  readonly access: (line: AccessLine, level?: LineLevel) => void;
  /** Lines so far that could not be written and were too many to wait. */
  readonly droppedLines: () => number;
};

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

export interface LogHandle {
  readonly log: Log;
  /** Writes what is buffered, right before the process exits. Gives up after 2 s, or when nothing can be written. */
  readonly flush: () => Promise<void>;
}

/** What several processes write to one pipe at a time stays in one piece up to here (PIPE_BUF, pipe(7)). */
const WHOLE_BYTES = 4096;
/** One write per turn of the event loop must keep up with a busy process: 800 lines. */
const FILE_WRITE_BYTES = 262_144;

/**
 * Buffers 16 KB or one second, whichever comes first: a write() per line would cost more than the line.
 * @param worker number of a process that shares stdout with others, and therefore writes whole lines of at most 4 KB;
 *   logged in every line, unless it is 0, the supervisor's, which logs little and writes it at once
 */
export function openLog(level: LogLevel, destination?: DestinationStream, worker?: number): LogHandle {
  if (destination !== undefined)
    return { log: logInto(destination, level, () => 0, worker), flush: () => Promise.resolve() };
  void process.stdout; // Node makes a pipe non-blocking when it makes this stream: a write that nobody reads fails with EAGAIN
  const stats = fstatSync(1);
  const isPipe = stats.isFIFO() || stats.isSocket();
  const stdout = new LogOutput({
    fd: 1,
    gatherBytes: gatherBytesOf(worker),
    // A write to a file is whole, whatever its length: the kernel locks the file's position.
    writeBytes: isPipe && worker !== undefined ? WHOLE_BYTES : FILE_WRITE_BYTES,
    isPipe,
    isShared: worker !== undefined,
    notice: (lines) =>
      `{"level":40,"time":"${new Date().toISOString()}"${originOf(worker)},"lines":${lines},"msg":"log lines were dropped: the log could not be written"}\n`,
  });
  return {
    log: logInto(stdout, level, () => stdout.dropped, worker),
    flush: () => stdout.flush(),
  };
}

function logInto(
  destination: DestinationStream,
  level: LogLevel,
  droppedLines: () => number,
  worker = 0,
): Log {
  const timestamp = isoTimes();
  const log = pino({ level, base: worker === 0 ? null : { worker }, timestamp }, destination);
  const least = log.levelVal;
  const origin = originOf(worker);
  return Object.assign(log, {
    droppedLines,
    access: (line: AccessLine, lineLevel: LineLevel = 30): void => {
      if (lineLevel >= least) destination.write(accessText(lineLevel, timestamp() + origin, line));
    },
  });
}

function originOf(worker = 0): string {
  return worker === 0 ? '' : `,"worker":${worker}`;
}

function gatherBytesOf(worker: number | undefined): number {
  if (worker === undefined) return 16_000;
  return worker === 0 ? 0 : 3_000;
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
