// The faults that a test key may ask for by name, `chaos/<fault>/<model>`: a closed table, which requests, listings, `explain`
// and docs/find-a-fault.md share. Pure.
import { nearest } from '../../config/nearest.ts';

/** What happens after some events of a stream, or in the middle of a response that is one document. */
export type AfterEvents = 'cut' | 'end' | 'stall' | 'error' | 'garble';

/** What is done to a call. */
export type Injection =
  /** Instead of a call to the gateway. */
  | { readonly is: 'answer'; readonly status: number; readonly retryAfterS: number | null }
  | { readonly is: 'page'; readonly body: string }
  | { readonly is: 'unreachable' }
  | { readonly is: 'no answer' }
  /** Between the gateway and the proxy. */
  | { readonly is: 'delay'; readonly of: 'head' | 'first event' | 'each event'; readonly ms: number }
  | { readonly is: 'after'; readonly events: number; readonly does: AfterEvents }
  /** Between the proxy and the client: rows state the true usage. */
  | { readonly is: 'wrong usage' };

interface Amount {
  readonly of: 'seconds' | 'milliseconds' | 'events';
  readonly usual: number;
  readonly most: number;
}

interface FaultRow {
  /** What the client meets. */
  readonly means: string;
  /** A number after the name says how much; null = it takes none. */
  readonly amount: Amount | null;
  readonly injection: (amount: number) => Injection;
}

/** A fault that was asked for. */
export interface Chaos {
  /** As asked for, with its amount: `cut-after-5`. */
  readonly text: string;
  /** As the table calls it: `cut-after`. */
  readonly name: string;
  readonly means: string;
  readonly injection: Injection;
}

const SECONDS = (usual: number): Amount => ({ of: 'seconds', usual, most: 600 });
const EVENTS = (usual: number): Amount => ({ of: 'events', usual, most: 100_000 });
const after = (does: AfterEvents) => (events: number) => ({ is: 'after', events, does }) as const;
const answer = (status: number, means: string): FaultRow => ({
  means,
  amount: null,
  injection: () => ({ is: 'answer', status, retryAfterS: null }),
});
const busy = (status: number, means: string): FaultRow => ({
  means: `${means}; the number is its Retry-After in seconds`,
  amount: SECONDS(1),
  injection: (retryAfterS) => ({ is: 'answer', status, retryAfterS }),
});
const SIGN_IN = '<!doctype html><html><head><title>Sign in</title></head><body>Sign in</body></html>\n';

export const CHAOS_FAULTS: Readonly<Record<string, FaultRow>> = {
  '400': answer(400, '400, the prompt is longer than the context window'),
  '401': answer(401, '401, the gateway does not know the key'),
  '403': answer(403, '403, the key may not call the model'),
  '404': answer(404, '404, the gateway has no such model'),
  '429': busy(429, '429, too many requests'),
  '500': answer(500, '500'),
  '502': answer(502, '502'),
  '503': busy(503, '503, the service is down'),
  '504': answer(504, '504'),
  '529': busy(529, '529, overloaded'),
  unreachable: {
    means: 'no connection to the gateway: 503 of the proxy',
    amount: null,
    injection: () => ({ is: 'unreachable' }),
  },
  'no-answer': {
    means: 'silence before the response begins, until a timeout ends it',
    amount: null,
    injection: () => ({ is: 'no answer' }),
  },
  'html-page': {
    means: 'a sign-in page with status 200',
    amount: null,
    injection: () => ({ is: 'page', body: SIGN_IN }),
  },
  'empty-answer': {
    means: 'status 200 and no body',
    amount: null,
    injection: () => ({ is: 'page', body: '' }),
  },
  'slow-head': {
    means: 'the response begins so many seconds late',
    amount: SECONDS(10),
    injection: (s) => ({ is: 'delay', of: 'head', ms: s * 1000 }),
  },
  'slow-first-token': {
    means: 'the response begins in time, its first event comes so many seconds late',
    amount: SECONDS(10),
    injection: (s) => ({ is: 'delay', of: 'first event', ms: s * 1000 }),
  },
  'slow-stream': {
    means: 'so many milliseconds between two events',
    amount: { of: 'milliseconds', usual: 500, most: 60_000 },
    injection: (ms) => ({ is: 'delay', of: 'each event', ms }),
  },
  'cut-after': {
    means: 'the connection breaks after so many events',
    amount: EVENTS(5),
    injection: after('cut'),
  },
  'end-after': {
    means: 'the stream ends after so many events, without its last one',
    amount: EVENTS(5),
    injection: after('end'),
  },
  stall: {
    means: 'nothing more comes after so many events, and the connection stays open until a timeout ends it',
    amount: EVENTS(3),
    injection: after('stall'),
  },
  'error-after': {
    means: 'an error event (overloaded) comes after so many events',
    amount: EVENTS(3),
    injection: after('error'),
  },
  'garbled-event': {
    means: 'the event of this number is no JSON; the others are as they were',
    amount: EVENTS(3),
    injection: after('garble'),
  },
  'wrong-usage': {
    means: 'the usage that the client gets is wrong; the row has the true one',
    amount: null,
    injection: () => ({ is: 'wrong usage' }),
  },
};

/** What the model names of these calls begin with. */
export const CHAOS = 'chaos/';
const NUMBERED = /^(.+?)-(\d{1,9}(?:\.\d{1,3})?)$/;

/** A name taken apart: `chaos/429/gpt-4o`. */
export interface ChaosName {
  readonly fault: string;
  /** '' = it names none. */
  readonly model: string;
}

/** null: the name is no such name. */
export function chaosNameOf(name: string): ChaosName | null {
  if (!name.startsWith(CHAOS)) return null;
  const rest = name.slice(CHAOS.length);
  const slash = rest.indexOf('/');
  return slash < 0
    ? { fault: rest, model: '' }
    : { fault: rest.slice(0, slash), model: rest.slice(slash + 1) };
}

/** The fault of a name; a sentence when there is none. */
export function chaosOf(text: string): Chaos | string {
  const numbered = Object.hasOwn(CHAOS_FAULTS, text) ? null : NUMBERED.exec(text);
  const [name, stated] = [numbered?.[1] ?? text, numbered?.[2]];
  const row = Object.hasOwn(CHAOS_FAULTS, name) ? CHAOS_FAULTS[name] : undefined;
  if (row === undefined) return unknown(name);
  const { amount, means } = row;
  if (amount === null) {
    if (stated !== undefined) return `The fault \`${name}\` takes no number.`;
    return { text, name, means, injection: row.injection(0) };
  }
  const value = stated === undefined ? amount.usual : Number(stated);
  if (value > amount.most) return `The fault \`${name}\` takes at most ${amount.most} ${amount.of}.`;
  if (amount.of === 'events' && !Number.isInteger(value))
    return `The fault \`${name}\` takes a whole number of events.`;
  return { text, name, means, injection: row.injection(value) };
}

/** Without the whole list: it holds numbers that clients would take for the status of this answer. */
function unknown(name: string): string {
  const near = nearest(name, Object.keys(CHAOS_FAULTS));
  const hint = near === null ? '' : ` Did you mean \`${near}\`?`;
  return `There is no fault \`${name.slice(0, 50)}\`.${hint} GET /v1/models?include_chaos=true lists them.`;
}
