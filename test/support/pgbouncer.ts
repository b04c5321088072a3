// PgBouncer before a PostgreSQL server, in transaction mode: each transaction may run in another session of the server.
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { RUN, type Teardown } from './process-cleanup.ts';
import { startProgram } from './server-program.ts';

const BINARY = '/usr/sbin/pgbouncer';

/** Why there can be none here; false when there can. */
export const noPgBouncer = (): string | false =>
  existsSync(BINARY) ? false : 'needs PgBouncer (apt-get install pgbouncer)';

/** Starts one. @returns `url` with its address in place of the server's */
export async function pgBouncerTo(t: Teardown, url: string): Promise<string> {
  const server = new URL(url);
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), `throughline-pgbouncer-${RUN}-`));
  chmodSync(folder, 0o755);
  const config = join(folder, 'pgbouncer.ini');
  const password = decodeURIComponent(server.password);
  writeFileSync(join(folder, 'users'), `"${server.username}" "${password}"\n`, { mode: 0o644 });
  writeFileSync(
    config,
    `[databases]
postgres = host=${server.hostname} port=${server.port} dbname=postgres user=${server.username} password='${password}'
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = plain
auth_file = ${join(folder, 'users')}
pool_mode = transaction
`,
    { mode: 0o644 },
  );
  // As root it refuses to run.
  const id = Number(spawnSync('id', ['-u', 'postgres'], { encoding: 'utf8' }).stdout);
  const as = process.getuid?.() === 0 ? { uid: id, gid: id } : {};
  const program = await startProgram(BINARY, [config], { ...as, ready: /process up/ });
  t.teardown(async () => {
    await program.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  server.port = String(port);
  return server.href;
}
