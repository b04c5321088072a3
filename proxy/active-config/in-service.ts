// The configuration in service, and the one place where another takes its place: whatever follows a configuration follows it
// here, whoever has changed it.
import { fileObjects } from '../access/objects/file-objects.ts';
import type { ActiveConfig } from './active-config.ts';

/** What a configuration has been changed in: all of it may be another, or its runtime models alone. */
export type Changed = 'files' | 'models';

export class InService {
  #active: ActiveConfig;
  #follow: (changed: Changed) => void = () => undefined;

  constructor(first: ActiveConfig) {
    this.#active = first;
    this.#taken('files');
  }

  /** The configuration that serves now. */
  get active(): ActiveConfig {
    return this.#active;
  }

  /** Another one serves from now on. The old one is retired in any case: no request begins on it any more. */
  put(next: ActiveConfig, changed: Changed): void {
    const old = this.#active;
    this.#active = next;
    try {
      this.#taken(changed);
    } finally {
      old.retire();
    }
  }

  /** Calls back now, and after each change. */
  follow(act: (changed: Changed) => void): void {
    this.#follow = act;
    act('files');
  }

  #taken(changed: Changed): void {
    const { snapshot, services } = this.#active;
    services.access.takeFile(fileObjects(snapshot.access));
    void services.access.bindKeys();
    services.budgets.use(snapshot);
    services.brake.use(snapshot.brake);
    this.#active.announce();
    this.#follow(changed);
  }
}
