// `GET /spend/rows/live`: rows as they come into the store, as Server-Sent Events. They are read from the store once a second
// for all who ask the same, so that calls cost nothing more; a slow listener is read for when it has taken what it was sent.
// The id of an event is the place in the order of arrival: whoever comes back with it goes on from there, at any server of
// the same store.
import type { AuthenticatedCaller } from '../access/caller.ts';
import type { ConfigReloader } from '../active-config/config-reloader.ts';
import { Fault, toFault } from '../errors/fault.ts';
import { callerFor } from '../pipeline/caller-for.ts';
import type { Exchange } from '../pipeline/exchange.ts';
import { callHeaders } from '../pipeline/respond.ts';
import { pause } from '../pipeline/until-client-leaves.ts';
import { rowOf } from '../spend/record/row.ts';
import type { Arrived, SpendFilter } from '../spend/store/store.ts';
import type { ServerState } from './health.ts';
import { ownPart } from './spend-own.ts';
import { read } from './spend-query.ts';
import { askedFilter } from './spend-rows.ts';

const MOST_LISTENERS = 32;
/** Of one event. Where more come at a time, nobody reads them: the listener is told to look for itself. */
const MOST_ROWS = 500;
/** As often as rows come into the store. */
const EVERY_MS = 1_000;
/** Of a store that answers slowly at most a twentieth of the time is taken. */
const SHARE = 20;
/** Proxies in between cut connections that say nothing for a minute. */
const PING_MS = 15_000;
/** A listener that takes nothing for so long is cut. */
const SLOW_MS = 30_000;
/** Then it comes back, to another server perhaps. */
const LONGEST_MS = 600_000;
const RETRY_MS = 2_000;

const HEADERS = [
  'content-type',
  'text/event-stream; charset=utf-8',
  'cache-control',
  'no-store',
  'x-content-type-options',
  'nosniff',
  'x-accel-buffering',
  'no',
];

interface LiveOwner {
  readonly reloader: ConfigReloader;
  readonly state: ServerState;
}

/** What a caller asked for, narrowed to what they may see. */
interface Part {
  readonly filter: SpendFilter;
  readonly whose: 'all' | 'own';
}

export class LiveRows {
  readonly #owner: LiveOwner;
  readonly #reading = new Map<string, Promise<Arrived>>();
  #listeners = 0;

  constructor(owner: LiveOwner) {
    this.#owner = owner;
  }

  /** @throws Fault too_many_listeners, invalid_parameter, management_denied, store_unavailable */
  async show(x: Exchange, caller: AuthenticatedCaller): Promise<void> {
    const part = partOf(x, caller);
    if (this.#listeners >= MOST_LISTENERS)
      throw new Fault('too_many_listeners', `${MOST_LISTENERS} listeners get rows live from this server.`, {
        headers: [['retry-after', '30']],
      });
    this.#listeners += 1;
    try {
      const place = x.req.header('last-event-id');
      const first = await this.#read(x, part, place === '' ? null : place);
      x.res.writeHead(200, [...HEADERS, ...callHeaders(x)]);
      await this.#follow(x, part, first);
    } finally {
      this.#listeners -= 1;
    }
  }

  async #follow(x: Exchange, begun: Part, first: Arrived): Promise<void> {
    const { clock } = x.active.services;
    const listener = new Listener(x);
    listener.start(begun.whose, first);
    let part = begun;
    let costMs = 0;
    for (;;) {
      const untilNext = EVERY_MS - (clock.mono() % EVERY_MS); // all at one moment, so that one question serves many
      const left = await pause(x.res, Math.max(untilNext, costMs * SHARE), 'rows were sent live');
      if (left !== null) return left.code === 'client_gone' ? x.res.destroy() : listener.end(left);
      try {
        part = await this.#partNow(x);
        const now = clock.mono();
        if (this.#isOver(x, now)) return listener.end(null);
        if (!listener.takes(now)) continue;
        const arrived = await this.#read(x, part, listener.place);
        costMs = clock.mono() - now;
        listener.tell(arrived);
      } catch (thrown) {
        return listener.end(toFault(thrown));
      }
    }
  }

  /** Another configuration may ask for other keys; the listener comes back, and loses nothing. */
  #isOver({ active, startedAt }: Exchange, now: number): boolean {
    const { reloader, state } = this.#owner;
    return state.draining || reloader.active !== active || now - startedAt > LONGEST_MS;
  }

  /** A key that was blocked, a session that ended, a role that was taken away: the same question is asked once more. */
  async #partNow(x: Exchange): Promise<Part> {
    const now = { ...x, startMs: x.active.services.clock.now() };
    return partOf(now, await callerFor(now, 'management', false));
  }

  async #read({ active }: Exchange, { filter }: Part, place: string | null): Promise<Arrived> {
    const key = JSON.stringify([filter, place]);
    const running = this.#reading.get(key);
    if (running !== undefined) return running;
    const reading = read(active.services.ledger.arrivals.arrived(filter, place, MOST_ROWS));
    this.#reading.set(key, reading);
    try {
      return await reading;
    } finally {
      this.#reading.delete(key);
    }
  }
}

/** @throws Fault invalid_parameter, management_denied */
function partOf({ query, active }: Exchange, caller: AuthenticatedCaller): Part {
  const asked = askedFilter(new URLSearchParams(query));
  const { apiKeyHash = null, user = null, team = null } = asked;
  const { whose, ...own } = ownPart(caller, active.services.access.directory, { apiKeyHash, user, team });
  return { filter: { ...asked, ...own }, whose };
}

/** One who listens: where they are, and what they have not taken yet. */
class Listener {
  readonly #x: Exchange;
  #place = '';
  /** Ids of the last rows: a store of several servers may give some twice. */
  #last: ReadonlySet<string> = new Set();
  #waiting = 0;
  #wroteAt: number;

  constructor(x: Exchange) {
    this.#x = x;
    this.#wroteAt = x.active.services.clock.mono();
  }

  get place(): string {
    return this.#place;
  }

  start(whose: Part['whose'], first: Arrived): void {
    this.#place = first.place;
    this.#write(`retry: ${RETRY_MS}\n`);
    this.#event('start', { whose, missed: first.missed });
    this.tell({ ...first, missed: false });
  }

  tell({ rows, place, missed }: Arrived): void {
    this.#place = place;
    const isNew = rows.filter(({ requestId }) => !this.#last.has(requestId));
    this.#last = new Set(rows.map(({ requestId }) => requestId));
    if (missed) this.#event('missed', {});
    if (isNew.length > 0) this.#event('rows', { rows: isNew.map(rowOf) });
  }

  /** Whether there is place for more. Keeps the connection alive; cuts one whose other end does not read. */
  takes(now: number): boolean {
    if (this.#waiting > 0) {
      if (now - this.#wroteAt > SLOW_MS) this.#x.res.destroy();
      return false;
    }
    if (now - this.#wroteAt >= PING_MS) this.#write(': still here\n\n');
    return true;
  }

  /** @param why null = come back at once */
  end(why: Fault | null): void {
    if (why !== null) this.#event('end', { code: why.code, message: why.message });
    this.#x.res.end();
  }

  #event(name: 'start' | 'rows' | 'missed' | 'end', data: unknown): void {
    this.#write(`event: ${name}\nid: ${this.#place}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  #write(text: string): void {
    this.#wroteAt = this.#x.active.services.clock.mono();
    this.#waiting += 1;
    this.#x.res.write(Buffer.from(text), () => (this.#waiting -= 1));
  }
}
