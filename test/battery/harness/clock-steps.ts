// Loaded into the program by `--import`, into its worker threads too: a wall clock that a file steps. The file holds
// milliseconds to add; monotonic time goes on as it does when an operator sets a clock.
import { readFileSync } from 'node:fs';

const path = process.env['CLOCK_STEP_FILE'] ?? '';
const RealDate = Date;

function stepMs(): number {
  try {
    return Number(readFileSync(path, 'utf8')) || 0;
  } catch {
    return 0; // not stepped yet
  }
}

const now = (): number => RealDate.now() + stepMs();

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args: unknown[], newTarget) =>
    Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget) as object,
  get: (target, key, receiver): unknown => (key === 'now' ? now : Reflect.get(target, key, receiver)),
});
