// The events of a response as two of them are compared: the data of each, without members that differ from call to call. Pure.
import type { Buffer } from 'node:buffer';
import { parseJson } from '../../bodies/json.ts';

/** Ids and clocks: two calls never have the same. */
const VOLATILE: ReadonlySet<string> = new Set([
  'id',
  'created',
  'created_at',
  'completed_at',
  'system_fingerprint',
  'item_id',
  'response_id',
  'responseId',
  'createTime',
  'request_id',
  'obfuscation',
]);

/** The data of each event; of a response that is one document, the document. */
export function eventsOf(body: Buffer, contentType: string): readonly string[] {
  const text = body.toString('utf8');
  if (!/^text\/event-stream/i.test(contentType)) return text === '' ? [] : [text];
  return text.split(/\r\n\r\n|\n\n|\r\r(?!\n)/).flatMap((event) => {
    const data = event
      .split(/\r\n|\n|\r/)
      .filter((line) => line.startsWith('data:') || line.startsWith('event:'))
      .join('\n');
    return data === '' ? [] : [data];
  });
}

/** The event with what differs from call to call left out. */
export function steady(event: string): string {
  return event
    .split('\n')
    .map((line) => {
      const data = line.startsWith('data:') ? line.slice('data:'.length) : line;
      const value = parseJson(data);
      return value === undefined ? line : JSON.stringify(withoutVolatile(value));
    })
    .join('\n');
}

function withoutVolatile(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutVolatile);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([name]) => !VOLATILE.has(name));
  return Object.fromEntries(kept.map(([name, inner]) => [name, withoutVolatile(inner)]));
}
