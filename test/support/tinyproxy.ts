// A real forward proxy of Debian (tinyproxy), on a free port of 127.0.0.1. Where none is installed its tests are skipped.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import type { Teardown } from './process-cleanup.ts';

const PROGRAM = ['/usr/bin/tinyproxy', '/usr/sbin/tinyproxy'].find((path) => existsSync(path)) ?? null;

/** Why tests of a forward proxy are skipped, or false. */
export const WITHOUT_TINYPROXY: string | false =
  PROGRAM === null ? 'tinyproxy is not installed: apt-get install tinyproxy' : false;

export interface ForwardProxy {
  readonly port: number;
  /** What it has logged of requests: `CONNECT host:port HTTP/1.1`, `POST http://... HTTP/1.1`. */
  requests(): readonly string[];
}

/** @param settings further lines of its configuration */
export async function startTinyproxy(t: Teardown, settings: readonly string[] = []): Promise<ForwardProxy> {
  if (PROGRAM === null) throw new Error('tinyproxy is not installed');
  const folder = mkdtempSync(join(tmpdir(), 'tinyproxy-'));
  const port = await freePort();
  const log = join(folder, 'log');
  const config = join(folder, 'tinyproxy.conf');
  const lines = [
    `Port ${port}`,
    'Listen 127.0.0.1',
    'Timeout 600',
    `LogFile "${log}"`,
    'LogLevel Connect',
    ...settings,
  ];
  writeFileSync(config, `${lines.join('\n')}\n`);
  const child = spawn(PROGRAM, ['-d', '-c', config], { stdio: 'ignore' });
  const ended = new Promise<void>((done) => child.once('close', () => done()));
  t.teardown(async () => {
    child.kill('SIGKILL');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  });
  while (!(await listens(port))) {
    if (child.exitCode !== null) throw new Error(`tinyproxy ended with ${child.exitCode}`);
  }
  return {
    port,
    requests: () =>
      [...readFileSync(log, 'utf8').matchAll(/Request \([^)]*\): (.*)/g)].map(([, text = '']) => text),
  };
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => setImmediate(() => resolve(false)));
  });
}
