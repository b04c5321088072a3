// What became of each field of a file that was imported.

/**
 * `exact`: means the same here. `approximate`: taken over, and differs as the message says. `manual`: a person has to do
 * something. `unsupported`: left out, nothing here does it. `no effect here`: left out, nothing is lost.
 */
export const LEVELS = ['exact', 'approximate', 'manual', 'unsupported', 'no effect here'] as const;
export type Level = (typeof LEVELS)[number];

export interface Finding {
  readonly level: Level;
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** Dotted path in the file that was read. */
  readonly path: string;
  readonly message: string;
  /** It was left out although it protected something: it is no loss of comfort. */
  readonly protected: boolean;
}

/** A comment whose field was left out. */
export interface LostComment {
  readonly file: string;
  readonly line: number;
  readonly text: string;
}
