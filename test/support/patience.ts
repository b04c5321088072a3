/**
 * How long a test lets ordinary work take, in ms, where something needs a bound: a busy machine never comes near it, and a
 * hang still ends with a sentence before the runner gives the file up.
 */
export const PATIENCE_MS = 540_000;
