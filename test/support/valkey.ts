// A Valkey or Redis for tests: a server process of our own from an installed binary, on a free port of the loopback. Debian:
// redis-server, or valkey-server from backports.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createClient } from '@redis/client';
import { Secret } from '../../config/secret.ts';
import type { ValkeySettings } from '../../config/valkey-settings.ts';
import { freePort } from './free-port.ts';
import { RUN, RUN_MARK } from './process-cleanup.ts';

interface Teardown {
  teardown(act: () => unknown): unknown;
  comment(text: string): unknown;
}

export interface ValkeyServer {
  readonly name: string;
  readonly port: number;
  readonly settings: ValkeySettings;
  /** One command beside the proxy's connection. */
  ask(...command: string[]): Promise<unknown>;
  start(): Promise<void>;
  /** Without saving; `kill -9`. */
  kill(): Promise<void>;
  /** Answers nothing until `go`. */
  pause(): void;
  go(): void;
}

/** null where no binary is installed: said in the test's output, once for each file. */
export async function ownValkey(t: Teardown, flags: readonly string[] = []): Promise<ValkeyServer | null> {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const binary = ['valkey-server', 'redis-server'].find((name) =>
    folders.some((folder) => existsSync(join(folder, name))),
  );
  if (binary === undefined) {
    t.comment(
      'NO VALKEY OR REDIS SERVER IS INSTALLED: what several servers count together is not tested here',
    );
    return null;
  }
  const folder = mkdtempSync(join(tmpdir(), `throughline-valkey-${RUN}-`));
  const port = await freePort();
  let child: ChildProcess | null = null;
  const start = async (): Promise<void> => {
    const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', ''];
    child = spawn(binary, [...args, '--appendonly', 'no', ...flags], {
      env: { ...process.env, [RUN_MARK]: RUN },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    await new Promise<void>((resolve, reject) => {
      let said = '';
      child?.stdout?.on('data', (part: Buffer) => {
        said += String(part);
        if (/ready to accept connections/i.test(said)) resolve();
      });
      child?.once('exit', () => reject(new Error(`${binary} did not start: ${said}`)));
    });
  };
  const kill = async (): Promise<void> => {
    const running = child;
    child = null;
    if (running === null || running.exitCode !== null || running.signalCode !== null) return;
    running.kill('SIGKILL');
    await once(running, 'exit');
  };
  t.teardown(async () => {
    await kill();
    rmSync(folder, { recursive: true, force: true });
  });
  await start();
  const password = flags.includes('--requirepass') ? flags[flags.indexOf('--requirepass') + 1] : undefined;
  const settings: ValkeySettings = {
    host: '127.0.0.1',
    port,
    tls: null,
    sentinels: null,
    username: null,
    password: password === undefined ? null : new Secret(password),
    database: 0,
    namespace: 'test',
    failClosed: { limits: false, budgets: false },
    shown: `redis://127.0.0.1:${port}/0`,
  };
  return {
    name: binary,
    port,
    settings,
    start,
    kill,
    pause: () => child?.kill('SIGSTOP'),
    go: () => child?.kill('SIGCONT'),
    ask: async (...command) => {
      const client = createClient({
        socket: { port, reconnectStrategy: false },
        ...(password === undefined ? {} : { password }),
      });
      client.on('error', () => undefined);
      await client.connect();
      try {
        return await client.sendCommand(command);
      } finally {
        client.destroy();
      }
    },
  };
}
