// Which files of shared items the workers have opened: what one of them has made, no other one makes anew, also not one that
// replaces it.
import type { OpenedFiles } from '../items/sqlite-store.ts';
import type { Channel } from './channel.ts';
import type { OfSupervisor, OfWorker } from './protocol.ts';

export class SupervisedFiles implements OpenedFiles {
  readonly #channel: Channel<OfSupervisor, OfWorker>;
  readonly #opened: Set<string>;

  /** @param opened by other workers before this one joined */
  constructor(channel: Channel<OfSupervisor, OfWorker>, opened: readonly string[]) {
    this.#channel = channel;
    this.#opened = new Set(opened);
  }

  has(file: string): boolean {
    return this.#opened.has(file);
  }

  add(file: string): void {
    if (this.#opened.has(file)) return;
    this.#opened.add(file);
    this.#channel.ask('opened', file).catch(() => undefined); // without a supervisor there are no others
  }

  /** Another worker has opened it. */
  heard(file: string): void {
    this.#opened.add(file);
  }
}
