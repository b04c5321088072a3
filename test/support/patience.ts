// How long tests wait: for ordinary work, and between two looks at what nobody tells of.
import { setTimeout as wait } from 'node:timers/promises';

/**
 * How long a test lets ordinary work take, in ms, where something needs a bound: a busy machine never comes near it, and a
 * hang still ends with a sentence before the runner gives the file up.
 */
export const PATIENCE_MS = 540_000;

/** Between two looks at what nobody tells of: without it, looking takes the CPU from what is waited for. */
export const beforeNextLook = (): Promise<void> => wait(20);
