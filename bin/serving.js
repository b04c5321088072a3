// What a serving process is begun with. V8, glibc and libuv read these before any code of ours runs, so the launcher starts the
// process anew with them; the image sets them itself.
'use strict';

/**
 * glibc gives each thread an arena of its own and hardly returns what V8's compiler threads leave there: 50 MB after some ten
 * thousand calls. Two of them: in a single one the main thread and the store's wait for each other, and a small call costs
 * a fifth more (medians of interleaved runs). The other is glibc's default, which stays as it is only when it is stated: else
 * it grows with the largest block that was freed, and less goes back.
 *
 * Names of gateways are looked up on libuv's threads, on half of them at once: with its 4, two names whose DNS server does not
 * answer keep all others waiting (https://docs.libuv.org/en/v1.x/threadpool.html).
 */
export const SERVING_ENV = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_TRIM_THRESHOLD_: '131072',
  UV_THREADPOOL_SIZE: '16',
};

/** V8 lets each half of the young generation grow to 16 MB; little of it lives. 4 would spare 5 MB and cost up to 13 % of CPU. In MB. */
export const SERVING_FLAGS = ['--max-semi-space-size=8'];
