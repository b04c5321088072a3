// Writes access events to the log: where nobody has asked for more.
import type { Log } from '../observability/logger.ts';
import type { AccessEvents } from './events.ts';

export function loggedEvents(log: Log): AccessEvents {
  return {
    emit: ({ kind, text, ...event }) => log.warn({ event: kind, ...event }, text),
  };
}
