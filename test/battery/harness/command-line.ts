// The command line of `npm run battery`: what was asked for, or a sentence that says what can be.
import { parseArgs } from 'node:util';
import type { RunOptions } from './scenario-run.ts';

export const USAGE = `npm run battery -- [--only NAME]... [--quick] [--seed N] [--rounds N] [--executions N] [--seconds N] [--write]

  --list            the scenarios
  --only NAME       only this scenario, and no test files; may be given several times
  --quick           short runs, as in .ci/run: does it still hold
  --seed N          repeats a run; printed with each table
  --rounds N        kills of each kind, configuration changes, parallel streams, slow clients of each kind
  --executions N    inputs of each fuzzing target
  --seconds N       length of the soak, and of each fuzzing target in place of a number of inputs
  --write           put the tables into docs/reliability.md
`;

/** A whole command line. */
export interface CommandLine {
  readonly help: boolean;
  readonly list: boolean;
  readonly write: boolean;
  /** Whether the test files that `npm test` leaves to the battery are played, too: unless scenarios were named. */
  readonly withFiles: boolean;
  /** Names of scenarios. */
  readonly scenarios: readonly string[];
  readonly run: RunOptions;
}

function countOf(flag: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new Error(`--${flag} takes a whole number above 0, not ${text}`);
  return Number(text);
}

/** @param known names of all scenarios. @throws Error that says what can be asked for */
export function readCommandLine(args: readonly string[], known: readonly string[]): CommandLine {
  const { values } = parseArgs({
    args: [...args],
    options: {
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true, default: [] },
      quick: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
      seed: { type: 'string' },
      rounds: { type: 'string' },
      executions: { type: 'string' },
      seconds: { type: 'string' },
    },
  });
  const { help, list, only, quick, write } = values;
  const unknown = only.filter((name) => !known.includes(name));
  if (unknown.length > 0)
    throw new Error(`there is no scenario ${unknown.join(', ')}; there are ${known.join(', ')}`);
  if (quick && write) throw new Error('--write takes full runs only: leave --quick out');
  return {
    help,
    list,
    write,
    withFiles: only.length === 0,
    scenarios: only.length === 0 ? known : known.filter((name) => only.includes(name)),
    run: {
      quick,
      seed: countOf('seed', values.seed) ?? Math.floor(Math.random() * 1_000_000) + 1,
      rounds: countOf('rounds', values.rounds),
      executions: countOf('executions', values.executions),
      seconds: countOf('seconds', values.seconds),
    },
  };
}
