// Garbage collection on demand, for what V8 does not do by itself: it collects the old generation only when that has
// grown to a limit, and an idle thread may never reach it.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** A collector of this thread's heap. `shrink` also gives the memory back, which takes some times longer. */
export function garbageCollector(): (how: 'collect' | 'shrink') => void {
  // --expose-gc on the command line would do the same, but it would have to stand in every way to start the proxy.
  // The flag is the process's and stays set: a thread that took it back could do so while another one needs it.
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as NodeJS.GCFunction;
  return (how) => {
    process.nextTick(keepsItsKind);
    collect({ type: 'major', execution: 'sync', flavor: how === 'shrink' ? 'last-resort' : 'regular' });
  };
}

/**
 * What waits for the next tick is alive during the collection, and with it the hidden class of its kind. Its members have symbols
 * as names, and for those V8 goes by the first class that it saw: where that was collected, each later call of `nextTick` takes
 * 1 us in place of 0.1, and a request makes eight. (Runtime_DefineKeyedOwnPropertyInLiteral in V8's runtime-object.cc.)
 */
const keepsItsKind = (): void => undefined;
