// What a code of the doctor says: its level, the hop at fault, what it means, and what helps.

/** Where a fault lies, in the order in which a call passes them. */
export const HOPS = [
  'client',
  'machine',
  'configuration',
  'proxy',
  'network',
  'gateway',
  'provider',
] as const;
export type Hop = (typeof HOPS)[number];

export type Level = 'error' | 'warning' | 'info';

export interface CodeRule {
  readonly level: Level;
  readonly hop: Hop;
  readonly meaning: string;
  /** What helps in general; a finding mostly says it with its own names. */
  readonly fix: string;
}

export const rule = (level: Level, hop: Hop, meaning: string, fix: string): CodeRule => ({
  level,
  hop,
  meaning,
  fix,
});
