// `throughline sandbox-check`: starts one sandbox as the server would, plays a conversation in it, and says in words
// what is wrong. Nothing of the server's own data and no gateway is touched.
import { resolve } from 'node:path';
import type { PlatformSettings, SandboxSpec } from '../../config/snapshot.ts';
import { CannotStart } from '../errors/cannot-start.ts';
import { jsonText } from './print.ts';
import { readConfig } from './read-config.ts';
import { SandboxSteps, type StepResult } from './sandbox-steps.ts';
import { openTrial } from './sandbox-trial.ts';
import {
  CONFIG_FLAG,
  configPathOf,
  DATA_DIR_FLAG,
  dataDirOf,
  onStop,
  UsageError,
  type Define,
  type Terminal,
} from './terminal.ts';

const DESCRIPTION = `Starts one sandbox by its spec as the server would, on keys and data of its own, lets its agent hold a
conversation with a scripted demo gateway, and says what is wrong and what helps.`;
const DETAILS = `
It looks at: health, the conversation, the LLM calls with their session id, a
command in the sandbox, isolation, spend rows, pause and resume. Run it as the
user of the server. Exit code 0 when everything works (warnings allowed), 1 when
something does not, 2 when the command line is wrong.`;

const PATIENCE_S = 120;
const STEP_CHARS = 16;
const INTERRUPTED = 130;

interface Flags {
  readonly config?: string | undefined;
  readonly dataDir?: string | undefined;
  readonly spec?: string | undefined;
  readonly address?: string | undefined;
  readonly patience: string;
  readonly json?: boolean | undefined;
}

export const sandboxCheck: Define = (command, terminal) => {
  command
    .description(DESCRIPTION)
    .option(...CONFIG_FLAG)
    .option(...DATA_DIR_FLAG)
    .option('--spec <id>', 'which of platform.sandbox_specs (default: the first)')
    .option('--address <host>', 'where containers and pods reach this machine (default: public_base_url)')
    .option('--patience <seconds>', 'longest wait for each act of the agent', String(PATIENCE_S))
    .option('--json', 'one JSON document at the end')
    .addHelpText('after', DETAILS)
    .action(async (flags) => terminal.exitWith(await checkSandbox(flags, terminal)));
};

async function checkSandbox(flags: Flags, terminal: Terminal): Promise<number> {
  const { env, cwd } = terminal;
  const patienceMs = patienceOf(flags.patience);
  const configPath = resolve(cwd, configPathOf(flags.config, terminal));
  const { snapshot } = readConfig(flags.config, terminal);
  const { platform, spec } = specOf(snapshot.platform, flags.spec);
  const interrupted = new AbortController();
  onStop(terminal, () => interrupted.abort());
  const dataDir = dataDirOf(flags.dataDir, terminal);
  const show = flags.json === true ? (): void => undefined : terminal.out;
  show(`sandbox "${spec.id}" of ${configPath}, driver ${platform.sandbox.driver}\n`);
  const address = flags.address ?? null;
  const trial = await openTrial({ configPath, dataDir, platform, spec, address, env });
  const steps = new SandboxSteps(trial, patienceMs, interrupted.signal, (result) => show(lineOf(result)));
  try {
    await steps.run();
    const { results } = steps;
    const ok = results.every(({ status }) => status !== 'failed');
    const log = ok ? [] : steps.log;
    if (flags.json === true) terminal.out(jsonText({ spec: spec.id, ok, steps: results, log }));
    else show(endOf(ok, results, log));
    return ok ? 0 : 1;
  } catch (error) {
    if (!interrupted.signal.aborted) throw error;
    terminal.err('throughline: interrupted; the sandbox is removed\n');
    return INTERRUPTED;
  } finally {
    await trial.close();
  }
}

function specOf(
  platform: PlatformSettings | null,
  id: string | undefined,
): { readonly platform: PlatformSettings; readonly spec: SandboxSpec } {
  const specs = platform?.sandboxSpecs ?? [];
  const spec = id === undefined ? specs[0] : specs.find((one) => one.id === id);
  if (platform === null || specs.length === 0)
    throw new CannotStart(
      'the configuration has no platform.sandbox_specs - see config/samples/platform-openhands.yaml',
    );
  if (spec !== undefined) return { platform, spec };
  throw new UsageError(`--spec ${String(id)} is not known - one of ${specs.map((one) => one.id).join(', ')}`);
}

function patienceOf(text: string): number {
  const seconds = Number(text);
  if (Number.isFinite(seconds) && seconds > 0) return seconds * 1000;
  throw new UsageError(`--patience ${text} is no number of seconds above 0`);
}

function lineOf({ step, status, detail, fix, ms }: StepResult): string {
  const took = status === 'skipped' ? '' : ` (${(ms / 1000).toFixed(1)} s)`;
  const line = `${status.padEnd(8)} ${step.padEnd(STEP_CHARS)} ${detail}${took}\n`;
  return fix === null ? line : `${line}${' '.repeat(9 + STEP_CHARS)} -> ${fix}\n`;
}

function endOf(ok: boolean, results: readonly StepResult[], log: readonly string[]): string {
  const warnings = results.filter(({ status }) => status === 'warning').length;
  if (ok) return warnings === 0 ? 'this sandbox works\n' : `this sandbox works, with ${warnings} warnings\n`;
  const tail = log.map((line) => `  | ${line}\n`).join('');
  return `${tail === '' ? '' : `its log ends with:\n${tail}`}this sandbox does not work\n`;
}
