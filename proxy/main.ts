// argv, environment, signals, exit codes: the only file that reads process.env or calls process.exit.
import { join } from 'node:path';
import { formatIssue } from '../config/issue.ts';
import { UsageError, type Command, type Terminal } from './cli/terminal.ts';
import { CannotStart, ConfigRefused } from './errors/cannot-start.ts';
import { VERSION } from './live.ts';

/** Loaded when asked for: `serve` needs neither the demo gateway nor what only `explain` reads. */
const COMMANDS: ReadonlyMap<string, () => Promise<Command>> = new Map([
  ['serve', async () => (await import('./cli/serve.ts')).serve],
  ['start', async () => (await import('./cli/start.ts')).start],
  ['check', async () => (await import('./cli/check.ts')).check],
  ['explain', async () => (await import('./cli/explain.ts')).explain],
  ['spend', async () => (await import('./cli/spend.ts')).spend],
  ['rotate-platform-key', async () => (await import('./cli/rotate-platform-key.ts')).rotatePlatformKey],
  ['demo-gateway', async () => (await import('./cli/demo-gateway.ts')).demoGateway],
]);

async function overview(): Promise<string> {
  const commands = await Promise.all([...COMMANDS.values()].map((load) => load()));
  return `throughline ${VERSION} - an LLM proxy that chains an agent platform to an external gateway

${commands.map(({ name, summary }) => `  ${name.padEnd(21)}${summary}`).join('\n')}

  throughline COMMAND --help tells more.
`;
}

const SIGNALS = { stop: 'SIGTERM', interrupt: 'SIGINT', reload: 'SIGHUP' } as const;

const terminal: Terminal = {
  env: process.env,
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  onSignal: (kind, act) => void process.on(SIGNALS[kind], act),
  cwd: process.cwd(),
  home: join(import.meta.dirname, ...(import.meta.filename.endsWith('.ts') ? ['..'] : ['..', '..'])),
};

async function run(argv: readonly string[]): Promise<number> {
  // `--config FILE` without a command: what images of the replaced proxy are started with.
  const bare = argv[0]?.startsWith('--') === true && !['--help', '--version'].includes(argv[0]);
  const [name, ...args] = bare ? ['serve', ...argv] : argv;
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    terminal.out(await overview());
    return name === undefined ? 2 : 0;
  }
  if (name === '--version' || name === '-v') {
    terminal.out(`${VERSION}\n`);
    return 0;
  }
  const command = await COMMANDS.get(name)?.();
  if (command === undefined) throw new UsageError(`there is no command ${name} - see throughline --help`);
  if (args.includes('--help') || args.includes('-h')) {
    terminal.out(command.usage);
    return 0;
  }
  return command.run(args, terminal);
}

/** One clear sentence for what an operator can mend; a stack only for what is a bug. */
function complain(error: unknown): number {
  if (error instanceof ConfigRefused) {
    for (const issue of error.issues) terminal.err(`${issue.severity}: ${formatIssue(issue)}\n`);
    terminal.err(`throughline: ${error.message}; nothing was started\n`);
    return 1;
  }
  if (error instanceof CannotStart) {
    terminal.err(`throughline: ${error.message}\n`);
    return 1;
  }
  const { code } = error as NodeJS.ErrnoException;
  if (error instanceof UsageError || code?.startsWith('ERR_PARSE_ARGS') === true) {
    terminal.err(`throughline: ${(error as Error).message}\n`);
    return 2;
  }
  terminal.err(
    `throughline: this is a bug: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
  );
  return 70;
}

// `| head` has read enough: no error, and nobody is left to tell.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? 0 : 74);
});
process.exit(await run(process.argv.slice(2)).catch(complain));
