// Idempotency keys over all processes that serve together: who has a key, and how its call ended. A single process needs
// none of it. Workers ask their supervisor (`HostKeys`), several servers ask Valkey (`ValkeyKeys`).

/** A call under an idempotency key. */
export interface KeyedCall {
  readonly id: string;
  /** Digest of the request. */
  readonly digest: string;
  readonly stream: boolean;
}

/** How a call ended, as it is passed between processes. */
export interface KeyedEnding {
  /** JSON: all but the body of the response. */
  readonly head: string;
  /** null: the response was not kept. */
  readonly body: Buffer | null;
}

/** What became of asking for a key. */
export type KeyClaim =
  /** The call that asked has the key now. */
  | { readonly kind: 'first' }
  | { readonly kind: 'running'; readonly call: KeyedCall }
  | { readonly kind: 'ended'; readonly call: KeyedCall; readonly ending: KeyedEnding };

/** Waiting for a call of another process. */
export interface KeyWait {
  /** The call runs no more, or its process is gone: worth asking again. */
  readonly done: Promise<void>;
  abandon(): void;
}

export interface SharedKeys {
  /** @returns null when the others cannot be asked: this process decides alone. @throws CountersUnavailable */
  claim(key: string, call: KeyedCall): Promise<KeyClaim | null>;
  wait(key: string): KeyWait;
  /** A call of this process has ended. @param ending null: forget it, somebody else may try. Never throws, never waits. */
  end(key: string, ending: KeyedEnding | null, windowMs: number): void;
  /** This process remembers an ended call of its own no more. */
  forget(key: string): void;
}
