// Counts how much is done in one turn of the event loop, whatever time that takes.

interface Turns {
  /** One step of the work. */
  step(): void;
  /** The most steps in one turn so far. */
  most(): number;
}

export function countTurns(t: { teardown(act: () => unknown): unknown }): Turns {
  let steps = 0;
  let most = 0;
  let next = setImmediate(function turn() {
    steps = 0;
    next = setImmediate(turn);
  });
  t.teardown(() => clearImmediate(next));
  return {
    step: () => {
      steps += 1;
      most = Math.max(most, steps);
    },
    most: () => most,
  };
}
