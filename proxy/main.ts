// argv, environment, signals, exit codes: the only file that reads process.env or calls process.exit.
import { join } from 'node:path';
import { formatIssue, waiverNote } from '../config/issue.ts';
import { runProgram } from './cli/program.ts';
import { UsageError, type LogStyle } from './cli/terminal.ts';
import { CannotStart, ConfigRefused, UncleanStop } from './errors/cannot-start.ts';
import { VERSION } from './active-config/version.ts';

const SIGNALS = { stop: 'SIGTERM', interrupt: 'SIGINT', reload: 'SIGHUP' } as const;

const terminal = {
  env: process.env,
  out: (text: string) => void process.stdout.write(text),
  err: (text: string) => void process.stderr.write(text),
  onSignal: (kind: keyof typeof SIGNALS, act: () => void) => void process.on(SIGNALS[kind], act),
  logStyle: logStyle(),
  ask: process.stdin.isTTY && process.stdout.isTTY ? ask : null,
  cwd: workingFolder(),
  home: join(import.meta.dirname, ...(import.meta.filename.endsWith('.ts') ? ['..'] : ['..', '..'])),
};

/** A shell stays in a folder that somebody else has removed. */
function workingFolder(): string {
  try {
    return process.cwd();
  } catch {
    process.stderr.write('throughline: the folder this runs in no longer exists - change to another one\n');
    return process.exit(1);
  }
}

/** One line from the terminal; its end, or Ctrl-D, is an empty answer. */
async function ask(question: string): Promise<string> {
  const { createInterface } = await import('node:readline/promises');
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  const closed = new Promise<string>((settle) => lines.once('close', () => settle('')));
  try {
    return await Promise.race([lines.question(question), closed]);
  } finally {
    lines.close();
  }
}

/** `hasColors` honours NO_COLOR (https://no-color.org) and TERM. */
function logStyle(): LogStyle {
  if (!process.stdout.isTTY) return 'json';
  return process.stdout.hasColors() ? 'coloured' : 'plain';
}

/** One clear sentence for what an operator can fix; a stack only for what is a bug. */
function report(error: unknown): number {
  if (error instanceof ConfigRefused) {
    for (const issue of error.issues) terminal.err(`${issue.severity}: ${formatIssue(issue)}\n`);
    terminal.err(waiverNote(error.issues));
    terminal.err(`throughline: ${error.message}; nothing was started\n`);
    return 1;
  }
  if (error instanceof CannotStart || error instanceof UncleanStop) {
    terminal.err(`throughline: ${error.message}\n`);
    return 1;
  }
  if (error instanceof UsageError) {
    terminal.err(`throughline: ${error.message}\n`);
    return 2;
  }
  terminal.err(
    `throughline: this is a bug: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
  );
  return 70;
}

// Other servers open their log again for these. Node would open a debugger on port 9229 for the first, and the second ends a process.
for (const signal of ['SIGUSR1', 'SIGUSR2'] as const) process.on(signal, () => undefined);
process.stderr.on('error', () => undefined); // nobody can be told
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (process.listenerCount(SIGNALS.stop) > 0) return; // what serves goes on without its output
  // `| head` has closed the pipe: not an error.
  if (error.code === 'EPIPE') process.exit(0);
  terminal.err(`throughline: the output cannot be written (${error.message}) - send it elsewhere\n`);
  process.exit(74);
});
const exitCode = await runProgram(process.argv.slice(2), VERSION, terminal).catch(report);
// A disk that is full is told by an event after the write; only then is it known that nothing was lost.
await new Promise<void>((done) => process.stdout.write('', () => done()));
process.exit(exitCode);
