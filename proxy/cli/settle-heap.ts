// Gives back what only the start, or a large burst of requests, needed. V8 keeps the heap as large as it became until the
// next full collection, which an idle process may never have.
//
// A full collection without requests in flight is dear: no object of a call lives then, so V8 drops their hidden classes and
// with them all machine code that was made for them. The next 10,000 calls cost twice as much (240 functions compiled
// again). So there is none after ordinary load, and V8's own collector for idle processes is switched off.
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { garbageCollector } from '../base/collect-garbage.ts';

const LOOK_MS = 5_000;
/** What ordinary load leaves is not worth the machine code. 10,000 streams leave some 500 MB. */
const GROWN_BYTES = 48 << 20;
/**
 * V8's memory reducer collects by itself some 8 s after the last request: here it waits for 23 days. To allow it no collection
 * (`--memory-reducer-gc-count=0`) would end the process where one is under way already: V8 checks the count.
 */
const HARDLY_EVER = ['--memory-reducer-delay-ms=2000000000', '--gc-memory-reducer-start-delay-ms=2000000000'];

/**
 * Maglev leaves finished compilations to threads that free them when they find time. On busy cores dozens of them wait, of a
 * megabyte each, and glibc hardly gives back what they have held: 28 MB after 30,000 calls. Now the main thread frees them.
 */
const FREE_AT_ONCE = '--no-maglev-destroy-on-background';

/** Of 10,000 models, say: collecting takes 0.5 s then, and waits for the first pause in place of keeping the first call waiting. */
const LARGE_BYTES = 128 << 20;

/** What a heap serves. */
interface HeapUser {
  readonly load: { readonly begun: number; readonly inFlight: number };
  /** Lets go of what is kept for speed alone. */
  forgetBodies(): void;
}

/**
 * Collects all garbage and shrinks the heap, now (by some 17 MB, in 25 ms) unless it is large, and whenever no request has come for
 * 5 to 10 s after it had grown much: while nobody waits.
 */
export function settleHeap(user: HeapUser, largeBytes = LARGE_BYTES): void {
  for (const flag of [...HARDLY_EVER, FREE_AT_ONCE]) setFlagsFromString(flag);
  const collect = garbageCollector();
  const isLarge = getHeapStatistics().used_heap_size > largeBytes;
  if (!isLarge) collect('shrink');
  let settledBytes = isLarge ? 0 : getHeapStatistics().total_heap_size;
  let seen = user.load.begun;
  const look = (): void => {
    const { begun, inFlight } = user.load;
    const isIdle = inFlight === 0 && begun === seen;
    seen = begun;
    if (!isIdle || getHeapStatistics().total_heap_size < settledBytes + GROWN_BYTES) return;
    user.forgetBodies();
    collect('shrink');
    settledBytes = getHeapStatistics().total_heap_size;
  };
  setInterval(look, LOOK_MS).unref();
}
