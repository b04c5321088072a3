// What capsules are configured with, in the server's units. See docs/find-a-fault.md.

/** Recordings of single calls, which an administrator switches on for a key or a conversation. */
export interface CapsuleSettings {
  /** null = `capsules` in the data directory. */
  readonly directory: string | null;
  /** Whether bodies and responses may be kept; never without `publicKey`. */
  readonly keepsBodies: boolean;
  /** X25519, its 32 bytes in base64; null = there is none. */
  readonly publicKey: string | null;
  /** Of bodies and responses, for one capsule. */
  readonly capsuleBytes: number;
  /** Of all files together. */
  readonly maxBytes: number;
  readonly maxAgeMs: number;
}
