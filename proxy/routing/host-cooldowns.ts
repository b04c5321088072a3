// Which deployments cool down, for the processes of one host, in the process that outlives them. Each tells what it finds, and the
// others hear it; when a cooldown is over, one of them at a time tries the deployment.

/** What a process found of a deployment; null: it is well. */
export interface CooldownNews {
  readonly id: string;
  readonly leftMs: number | null;
}

interface Cooldown {
  /** Monotonic ms. */
  readonly untilMs: number;
  /** The process that tries it. */
  holder: number | null;
  heldMs: number;
}

/** A trial that nobody ends is another one's after this time. */
const TRIAL_MS = 30_000;
/** A cooldown that is over for so long, and that nobody tried, says nothing any more. */
const STALE_MS = 300_000;

/** In the supervisor. Processes are known by number; one that ends frees what it tried. */
export class HostCooldowns {
  readonly #mono: () => number;
  readonly #byId = new Map<string, Cooldown>();

  /** @param mono monotonic milliseconds */
  constructor(mono: () => number) {
    this.#mono = mono;
  }

  /** @returns whether the others are to hear of it */
  told({ id, leftMs }: CooldownNews): boolean {
    if (leftMs === null) return this.#byId.delete(id);
    this.#forgetStale();
    this.#byId.set(id, { untilMs: this.#mono() + leftMs, holder: null, heldMs: 0 });
    return true;
  }

  /** Whether the trial of a deployment is this process's. @param by no other process ever has the same number */
  mayTry(by: number, id: string): boolean {
    const cooldown = this.#byId.get(id);
    if (cooldown === undefined) return true;
    const now = this.#mono();
    if (now < cooldown.untilMs) return false;
    const isFree = cooldown.holder === null || now - cooldown.heldMs > TRIAL_MS;
    if (isFree) Object.assign(cooldown, { holder: by, heldMs: now });
    return cooldown.holder === by;
  }

  /** For a process that has just begun. */
  get all(): readonly CooldownNews[] {
    const now = this.#mono();
    return Array.from(this.#byId, ([id, { untilMs }]) => ({ id, leftMs: Math.max(0, untilMs - now) }));
  }

  /** A process has ended: it tries nothing any more. */
  ended(by: number): void {
    for (const cooldown of this.#byId.values()) if (cooldown.holder === by) cooldown.holder = null;
  }

  #forgetStale(): void {
    const now = this.#mono();
    for (const [id, { untilMs }] of this.#byId) if (now - untilMs > STALE_MS) this.#byId.delete(id);
  }
}
