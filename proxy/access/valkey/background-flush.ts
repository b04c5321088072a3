// Tells the shared counters in the background what this server has not told them yet.
import type { Generation, ValkeyLink } from './valkey-link.ts';

export class BackgroundFlush {
  readonly #link: ValkeyLink;
  readonly #untold: { readonly size: number };
  readonly #tellAll: (at: Generation) => Promise<void>;
  #underWay: Promise<void> | null = null;

  /** @param tellAll rejects when not all could be told; what another generation is asked for stays untold */
  constructor(
    link: ValkeyLink,
    untold: { readonly size: number },
    tellAll: (at: Generation) => Promise<void>,
  ) {
    this.#link = link;
    this.#untold = untold;
    this.#tellAll = tellAll;
  }

  /** Resolves when all is told, or the counters are away. Whoever asks meanwhile waits for the same. */
  soon(): Promise<void> {
    this.#underWay ??= this.#tell().finally(() => (this.#underWay = null));
    return this.#underWay;
  }

  async #tell(): Promise<void> {
    const link = this.#link;
    while (this.#untold.size > 0 && link.state.is === 'shared') {
      const { generation } = link.state;
      await this.#tellAll(link.state).catch((error: unknown) => link.suspect(error));
      if (this.#untold.size > 0 && link.state.generation === generation) await link.rejoin();
    }
  }
}
