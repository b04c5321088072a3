// Compares a recorded response with one that was made again: status, headers that matter, bytes, events, times. Pure.
import type { Buffer } from 'node:buffer';
import type { KeptHeader, Piece } from '../format.ts';
import { eventsOf, steady } from './events.ts';

/** A response, recorded or new. */
export interface ComparedResponse {
  /** null = there was none. */
  readonly status: number | null;
  readonly headers: readonly KeptHeader[];
  readonly body: Buffer;
  readonly pieces: readonly Piece[];
  /** Since the request, as the times of the pieces; null = there was no head. */
  readonly headMs: number | null;
  readonly end: 'whole' | 'broken';
  /** More came than is kept: the comparison ends there. */
  readonly isCut: boolean;
}

interface Times {
  readonly head_ms: number | null;
  readonly first_byte_ms: number | null;
  readonly last_byte_ms: number | null;
  readonly longest_gap_ms: number | null;
  readonly pieces: number;
}

interface Both<T> {
  readonly recorded: T;
  readonly replayed: T;
}

export interface Comparison {
  /** `same_events`: other bytes, but only in ids and clocks. */
  readonly verdict: 'same_bytes' | 'same_events' | 'different';
  readonly status: Both<number | null>;
  /** Those that differ. */
  readonly headers: readonly (Both<string | null> & { readonly name: string })[];
  readonly end: Both<'whole' | 'broken'>;
  readonly bytes: Both<number> & { readonly first_difference: number | null };
  readonly events: Both<number> & {
    /** The first one that differs in more than ids and clocks, counted from 1. */
    readonly first_difference: (Both<string | null> & { readonly event: number }) | null;
  };
  readonly times: Both<Times>;
  /** The recording was cut at its bound: what comes after is not compared. */
  readonly is_cut: boolean;
}

/** Others say when and by whom a response was made, not what it is. */
const HEADERS = [
  'content-type',
  'content-encoding',
  'cache-control',
  'retry-after',
  'x-accel-buffering',
  'x-should-retry',
];
const SHOWN_CHARS = 400;

export function compare(recorded: ComparedResponse, replayed: ComparedResponse): Comparison {
  const both = <T>(read: (one: ComparedResponse) => T): Both<T> => ({
    recorded: read(recorded),
    replayed: read(replayed),
  });
  const status = both((one) => one.status);
  const headers = HEADERS.flatMap((name) => {
    const values = both((one) => valueOf(one, name));
    return values.recorded === values.replayed ? [] : [{ name, ...values }];
  });
  const body = bodiesOf(recorded, replayed);
  const firstByte = firstDifference(body.recorded, body.replayed);
  const events = eventsBoth(recorded, replayed);
  const end = both((one) => one.end);
  const isSame = status.recorded === status.replayed && headers.length === 0 && end.recorded === end.replayed;
  const sameEvents = events.first_difference === null ? 'same_events' : 'different';
  const sameBody = firstByte === null ? 'same_bytes' : sameEvents;
  return {
    verdict: isSame ? sameBody : 'different',
    status,
    headers,
    end,
    bytes: { ...both((one) => one.body.length), first_difference: firstByte },
    events,
    times: both(timesOf),
    is_cut: recorded.isCut,
  };
}

function bodiesOf(recorded: ComparedResponse, replayed: ComparedResponse): Both<Buffer> {
  if (!recorded.isCut) return { recorded: recorded.body, replayed: replayed.body };
  return { recorded: recorded.body, replayed: replayed.body.subarray(0, recorded.body.length) };
}

/** The offset; null = they are the same. */
function firstDifference(a: Buffer, b: Buffer): number | null {
  if (a.equals(b)) return null;
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i += 1) if (a[i] !== b[i]) return i;
  return length;
}

function eventsBoth(recorded: ComparedResponse, replayed: ComparedResponse): Comparison['events'] {
  const all = eventsOf(recorded.body, valueOf(recorded, 'content-type') ?? '');
  const old = recorded.isCut ? all.slice(0, -1) : all; // the last one may be half of one
  const now = eventsOf(replayed.body, valueOf(replayed, 'content-type') ?? '');
  const length = recorded.isCut ? old.length : Math.max(old.length, now.length);
  for (let i = 0; i < length; i += 1) {
    const [a, b] = [old[i], now[i]];
    if (a !== undefined && b !== undefined && (a === b || steady(a) === steady(b))) continue;
    const difference = { event: i + 1, recorded: shown(a), replayed: shown(b) };
    return { recorded: old.length, replayed: now.length, first_difference: difference };
  }
  return { recorded: old.length, replayed: now.length, first_difference: null };
}

const shown = (event: string | undefined): string | null =>
  event === undefined ? null : event.slice(0, SHOWN_CHARS);

const valueOf = ({ headers }: ComparedResponse, name: string): string | null =>
  headers.find(([one]) => one.toLowerCase() === name)?.[1] ?? null;

export function timesOf({ headMs, pieces }: Pick<ComparedResponse, 'headMs' | 'pieces'>): Times {
  const [first] = pieces;
  const last = pieces.at(-1);
  let gap: number | null = null;
  pieces.forEach(([at], i) => {
    const before = pieces[i - 1];
    if (before !== undefined) gap = Math.max(gap ?? 0, at - before[0]);
  });
  const rounded = (ms: number | null | undefined): number | null =>
    ms === null || ms === undefined ? null : Math.round(ms * 10) / 10;
  return {
    head_ms: rounded(headMs),
    first_byte_ms: rounded(first?.[0]),
    last_byte_ms: rounded(last?.[0]),
    longest_gap_ms: rounded(gap),
    pieces: pieces.length,
  };
}
