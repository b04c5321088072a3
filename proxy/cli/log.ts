// The log of a command that serves: JSON lines, or readable ones on a terminal.
import { openLog, type LogHandle, type LogLevel } from '../observability/logger.ts';
import { readableLog } from '../observability/readable-log.ts';
import type { Terminal } from './terminal.ts';

/** @param worker as `openLog` takes it */
export function logFor(level: LogLevel, { logStyle, out }: Terminal, worker?: number): LogHandle {
  const destination = logStyle === 'json' ? undefined : readableLog(out, logStyle === 'coloured');
  return openLog(level, destination, worker);
}
