// A Valkey or Redis for tests: a server process of our own from an installed binary, on a free port of the loopback. Debian:
// redis-server, or valkey-server from backports.
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { RedisClient } from '@redis/client';
import { Secret } from '../../config/secret.ts';
import type { ValkeySettings } from '../../config/valkey-settings.ts';
import { freePort } from './free-port.ts';
import { RUN, type Teardown } from './process-cleanup.ts';
import { startProgram, type ServerProgram } from './server-program.ts';

/** `createClient` makes a class of 500 methods each time. */
const newClient = RedisClient.factory({});

interface Commenting extends Teardown {
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
export async function ownValkey(t: Commenting, flags: readonly string[] = []): Promise<ValkeyServer | null> {
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
  let program: ServerProgram | null = null;
  const start = async (): Promise<void> => {
    const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', ''];
    program = await startProgram(binary, [...args, '--appendonly', 'no', ...flags], {
      ready: /ready to accept connections/i,
      on: 'stdout',
    });
  };
  const kill = async (): Promise<void> => await program?.stop();
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
    pause: () => program?.kill('SIGSTOP'),
    go: () => program?.kill('SIGCONT'),
    ask: async (...command) => {
      const client = newClient({
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
