// Keeps the heap of a store's thread small. Texts of shipped rows end in the old generation, which V8 lets grow by some
// 30 MB before it looks at it: 45,000 rows left 95 MB in the process, and 60 with this.
import { getHeapStatistics } from 'node:v8';
import { garbageCollector } from '../../base/collect-garbage.ts';

const COLLECT_AT_BYTES = 24 << 20; // 4 to 10 of them live
const IDLE_MS = 5_000;
/** Below it there is little to give back, and a full collection costs the machine code (see `cli/settle-heap.ts`). */
const SHRINK_AT_BYTES = 20 << 20;

export class ThreadHeap {
  readonly #collect = garbageCollector();
  #idle: NodeJS.Timeout | null = null;

  /** To be called after each shipment. */
  shipped(): void {
    // A report that runs meanwhile may hold more for good reasons; then each shipment, one a second, costs 10 ms more.
    if (getHeapStatistics().total_heap_size > COLLECT_AT_BYTES) this.#collect('collect');
    this.#idle ??= setTimeout(() => this.#shrink(), IDLE_MS).unref();
    this.#idle.refresh();
  }

  #shrink(): void {
    this.#idle = null;
    if (getHeapStatistics().total_heap_size > SHRINK_AT_BYTES) this.#collect('shrink');
  }
}
