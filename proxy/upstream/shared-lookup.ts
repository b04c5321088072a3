// One look-up of a name at a time, for all connections that wait for it. getaddrinfo(3) occupies a thread, and libuv lets two of
// them be occupied at once (https://docs.libuv.org/en/v1.x/threadpool.html): a name whose DNS does not answer would keep every other
// name waiting, for as long as there are calls for it.
import { lookup as dnsLookup } from 'node:dns';
import type { LookupFunction } from 'node:net';

type Callback = Parameters<LookupFunction>[2];

export function sharedLookup(lookup: LookupFunction = dnsLookup): LookupFunction {
  const running = new Map<string, Callback[]>();
  return (hostname, options, callback) => {
    const name = JSON.stringify([hostname, options]);
    const waiting = running.get(name);
    if (waiting !== undefined) {
      waiting.push(callback);
      return;
    }
    const all = [callback];
    running.set(name, all);
    lookup(hostname, options, (...answer) => {
      running.delete(name);
      for (const one of all) one(...answer);
    });
  };
}
