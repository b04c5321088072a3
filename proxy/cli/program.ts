// The command line as a whole: which subcommands there are. Help, "did you mean" and completion come from `commander`
// and `@bomb.sh/tab`; what a subcommand says and does stands in its own file.
import { Command, CommanderError } from '@commander-js/extra-typings';
import type { Command as PlainCommand } from 'commander';
import { UsageError, type Define, type Terminal } from './terminal.ts';

interface Subcommand {
  readonly name: string;
  /** One line for the overview. */
  readonly summary: string;
  /** Loaded when asked for: `serve` needs neither the demo gateway nor what only `explain` reads. */
  readonly load: () => Promise<Define>;
}

const SUBCOMMANDS: readonly Subcommand[] = [
  {
    name: 'serve',
    summary: 'serve a configuration',
    load: async () => (await import('./serve.ts')).serve,
  },
  {
    name: 'start',
    summary: 'quickstart with a demo gateway, or serve --config FILE',
    load: async () => (await import('./start.ts')).start,
  },
  {
    name: 'check',
    summary: 'find every issue of a configuration',
    load: async () => (await import('./check.ts')).check,
  },
  {
    name: 'explain',
    summary: 'show what would be sent upstream, and why',
    load: async () => (await import('./explain.ts')).explain,
  },
  {
    name: 'models',
    summary: 'show where each listed model comes from, and why one is missing',
    load: async () => (await import('./models.ts')).models,
  },
  {
    name: 'doctor',
    summary: 'walk the chain to every gateway, say which hop is at fault',
    load: async () => (await import('./doctor.ts')).doctor,
  },
  {
    name: 'healthcheck',
    summary: 'ask the proxy on this machine whether it is ready',
    load: async () => (await import('./healthcheck.ts')).healthcheck,
  },
  {
    name: 'diff',
    summary: 'show what changes for callers between two configurations',
    load: async () => (await import('./diff.ts')).diff,
  },
  {
    name: 'import',
    summary: 'make a configuration from one of LiteLLM',
    load: async () => (await import('./import.ts')).importFrom,
  },
  {
    name: 'init',
    summary: 'write a first configuration',
    load: async () => (await import('./init.ts')).init,
  },
  {
    name: 'reload',
    summary: 'have a running proxy read its configuration again',
    load: async () => (await import('./reload.ts')).reload,
  },
  {
    name: 'spend',
    summary: 'report, export, verify, reconcile and reprice spend; show budgets',
    load: async () => (await import('./spend.ts')).spend,
  },
  {
    name: 'keys',
    summary: 'create, list, show and revoke keys of a running proxy',
    load: async () => (await import('./keys.ts')).keys,
  },
  {
    name: 'teams',
    summary: 'create, list and delete teams of a running proxy',
    load: async () => (await import('./teams.ts')).teams,
  },
  {
    name: 'capsule',
    summary: 'record calls of a running proxy, and look at the recordings',
    load: async () => (await import('./capsule.ts')).capsule,
  },
  {
    name: 'replay',
    summary: 'repeat a recorded call and compare, or play its response back',
    load: async () => (await import('./replay.ts')).replay,
  },
  {
    name: 'sandbox-check',
    summary: 'start one sandbox, play a conversation, say what is wrong',
    load: async () => (await import('./sandbox-check.ts')).sandboxCheck,
  },
  {
    name: 'rotate-platform-key',
    summary: 'seal the platform data under another key',
    load: async () => (await import('./rotate-platform-key.ts')).rotatePlatformKey,
  },
  {
    name: 'demo-gateway',
    summary: 'run a scriptable external gateway',
    load: async () => (await import('./demo-gateway.ts')).demoGateway,
  },
];

/** The two commands of completion: the script for a shell, and what that script asks. */
const COMPLETION = ['completion', 'complete'] as const;

/**
 * Runs a command line. @returns the exit code
 * @throws UsageError when it is wrong, and whatever the subcommand throws
 */
export async function runProgram(
  argv: readonly string[],
  version: string,
  outside: Omit<Terminal, 'exitWith'>,
): Promise<number> {
  let exitCode = 0;
  const terminal: Terminal = { ...outside, exitWith: (code) => void (exitCode = code) };
  // `--config FILE` without a command: what images of the replaced proxy are started with.
  const [first = ''] = argv;
  const isBare = /^--(?!help$|version$)./.test(first);
  const args = isBare ? ['serve', ...argv] : helpAsFlag(argv);
  const program = await programFor(args, version, terminal);
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.code === 'commander.help') return 2; // nothing was asked for, and the help has been printed
    if (error.exitCode !== 0) throw new UsageError(sentenceOf(error.message, nameOf(program, args)));
  }
  return exitCode;
}

async function programFor(args: readonly string[], version: string, terminal: Terminal): Promise<Command> {
  const program = new Command('throughline')
    .description('An LLM proxy that chains an agent platform to an external gateway.')
    .version(version, '-v, --version')
    .exitOverride()
    .helpCommand(false)
    .configureOutput({ writeOut: terminal.out, writeErr: terminal.out, outputError: () => undefined })
    .configureHelp({
      subcommandTerm: (command) => command.name(),
      // Lines of the sources are longer than a terminal's: wrapped as they stand, each would leave a short rest.
      commandDescription: (command) => command.description().replaceAll('\n', ' '),
    })
    .addHelpText('after', '\nthroughline COMMAND --help tells more.');
  const [asked] = args;
  const isCompletion = COMPLETION.some((name) => name === asked);
  for (const { name, summary, load } of SUBCOMMANDS) {
    const command = program.command(name).summary(summary);
    if (isCompletion || name === asked) (await load())(command.description(summary), terminal);
  }
  if (isCompletion) await addCompletion(program);
  else program.command('completion').summary('print a completion script for zsh, bash, fish or powershell');
  return program;
}

/** `help spend report` is `spend report --help`: only that subcommand needs to be loaded. */
function helpAsFlag([first, ...rest]: readonly string[]): string[] {
  if (first === undefined) return [];
  return first === 'help' ? [...rest, '--help'] : [first, ...rest];
}

/** Adds the two commands; the package knows commander's own type, which the stricter one only narrows. */
async function addCompletion(program: Command): Promise<void> {
  const { default: complete } = await import('@bomb.sh/tab/commander');
  const plain = program as unknown as PlainCommand;
  describeInOneLine(plain);
  complete(plain, { completionCommandName: COMPLETION[0] });
}

/** What the shell asks is answered with a word and its description in each line: of several lines the others would be words, too. */
function describeInOneLine({ commands }: PlainCommand): void {
  for (const command of commands) {
    command.description(command.summary() || command.description().replaceAll('\n', ' '));
    describeInOneLine(command);
  }
}

/** The command that the words ask for, as one types it: `throughline keys list`. */
function nameOf(program: Command, args: readonly string[]): string {
  const names = [program.name()];
  let { commands } = program;
  for (const word of args) {
    const next = commands.find((one) => one.name() === word);
    if (next === undefined) break;
    names.push(word);
    ({ commands } = next);
  }
  return names.join(' ');
}

/**
 * Commander's message as one line: its suggestion stands in brackets on a second one.
 * @param asked whose help lists what is there
 */
function sentenceOf(message: string, asked: string): string {
  const [what = '', hint] = message.replace(/^error: /, '').split('\n');
  const near = hint?.replace(/^\(Did you mean (.*)\)$/, 'did you mean $1');
  return `${what.replace(/\.$/, '')} - ${near ?? `see ${asked} --help`}`;
}
