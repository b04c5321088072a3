// Which calls are recorded: those of a key or of a conversation, until a time. Made by administrators, shared by all processes,
// forgotten when their time is over.

/** An order to record. */
export interface CapsuleRule {
  readonly id: string;
  /** SHA-256 hex; null = any key. One of the two is stated. */
  readonly keyHash: string | null;
  readonly sessionId: string | null;
  /** Whether bodies and responses are kept, sealed. */
  readonly bodies: boolean;
  readonly createdMs: number;
  readonly untilMs: number;
  /** SHA-256 of the key of whoever asked; '' = none was needed. */
  readonly createdBy: string;
}

/** Where rules are kept for the other processes and the next start. */
export interface RuleKeeper {
  /** Durable when it resolves. */
  put(rule: CapsuleRule): Promise<void>;
  remove(id: string): Promise<void>;
  /** Resolves when what others have put is told. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

export class CapsuleRules {
  readonly #rules = new Map<string, CapsuleRule>();

  told(rule: CapsuleRule): void {
    this.#rules.set(rule.id, rule);
  }

  removed(id: string): boolean {
    return this.#rules.delete(id);
  }

  get size(): number {
    return this.#rules.size;
  }

  /** Those that hold, the newest first. Others are forgotten. */
  all(nowMs: number): readonly CapsuleRule[] {
    this.#forget(nowMs);
    return [...this.#rules.values()].toSorted((a, b) => b.createdMs - a.createdMs);
  }

  /** The rule for a key, one that keeps bodies before others; null = none. */
  ofKey(keyHash: string, nowMs: number): CapsuleRule | null {
    return this.#find(nowMs, (rule) => rule.keyHash === keyHash);
  }

  ofSession(sessionId: string, nowMs: number): CapsuleRule | null {
    return this.#find(nowMs, (rule) => rule.sessionId === sessionId);
  }

  /** Whether some rule is for a conversation: it is known later than the key. */
  hasSessions(nowMs: number): boolean {
    return this.#find(nowMs, (rule) => rule.sessionId !== null) !== null;
  }

  #find(nowMs: number, fits: (rule: CapsuleRule) => boolean): CapsuleRule | null {
    let found: CapsuleRule | null = null;
    for (const rule of this.#rules.values())
      if (rule.untilMs > nowMs && fits(rule) && (found === null || rule.bodies)) found = rule;
    return found;
  }

  #forget(nowMs: number): void {
    for (const { id, untilMs } of this.#rules.values()) if (untilMs <= nowMs) this.#rules.delete(id);
  }
}
