// A PostgreSQL for tests: the one that TEST_DATABASE_URL names, else a server of our own from installed binaries, else
// PGlite behind a socket. Says which. Every store gets a schema of its own, so tests share a server.
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
import pg from 'pg';
import { databaseOf } from '../../config/resolve/database.ts';
import { Diagnostics } from '../../config/diagnostics.ts';
import type { DatabaseSettings } from '../../config/database-settings.ts';
import { freePort } from './free-port.ts';
import { PATIENCE_MS } from './patience.ts';
import { RUN, type Teardown } from './process-cleanup.ts';
import { startProgram, type ServerProgram } from './server-program.ts';

interface ProcessOwner {
  readonly uid?: number;
  readonly gid?: number;
  readonly cwd: string;
}

const CLUSTERS = join(import.meta.dirname, '../../node_modules/.cache/throughline-postgres');

/** A server that tests may use. */
export interface TestServer {
  /** `PostgreSQL 15.18 from /usr/lib/postgresql/15/bin`, `PGlite`. */
  readonly name: string;
  /** Several connections are several sessions; PGlite has one. */
  readonly real: boolean;
  /** URL of a fresh schema. */
  url(more?: string): string;
}

/** A server that a test may stop and start. */
export interface OwnServer extends TestServer {
  readonly folder: string;
  start(): Promise<void>;
  /** Ends all connections at once, as a crash of the machine would. */
  stop(): Promise<void>;
}

/** The settings of a URL. @throws Error when it is wrong */
export function settingsOf(url: string): DatabaseSettings {
  const file = { name: 'test', lineStarts: null };
  const diagnostics = new Diagnostics({ kind: 'map', file, offset: 0, members: new Map() });
  const settings = databaseOf(url, {}, diagnostics);
  if (settings === null)
    throw new Error(
      diagnostics
        .issues()
        .map(({ message }) => message)
        .join(),
    );
  return settings;
}

/** Any PostgreSQL, with TEST_DATABASE_URL=pglite always that one; tells the test which. */
export async function anyPostgres(t: Teardown & { comment(text: string): unknown }): Promise<TestServer> {
  const given = process.env['TEST_DATABASE_URL'] ?? '';
  const own = given === '' ? await ownPostgres(t) : null;
  const server = given === '' || given === 'pglite' ? (own ?? (await pglite(t))) : at(given);
  t.comment(`PostgreSQL tests run on ${server.name}`);
  return server;
}

function at(given: string): TestServer {
  return { name: `the server of TEST_DATABASE_URL`, real: true, url: (more = '') => schemaOf(given, more) };
}

function schemaOf(base: string, more: string): string {
  const url = new URL(base);
  url.searchParams.set('schema', `t_${randomBytes(6).toString('hex')}`);
  url.searchParams.set('connect_timeout', String(PATIENCE_MS / 1000)); // a busy machine needs more than the 10 s of a server
  for (const [name, value] of new URLSearchParams(more)) url.searchParams.set(name, value);
  return url.href;
}

async function pglite(t: Teardown): Promise<TestServer> {
  const db = await PGlite.create();
  const server = new PGLiteSocketServer({ db, port: 0, host: '127.0.0.1', maxConnections: 20 });
  await server.start();
  t.teardown(async () => {
    await server.stop();
    await db.close();
  });
  const base = `postgresql://postgres:postgres@${server.getServerConn()}/postgres?sslmode=disable`;
  return { name: 'PGlite', real: false, url: (more = '') => schemaOf(base, more) };
}

/**
 * A server from installed binaries in a folder of its own; null when there are none that can be run.
 * @param flagsIn makes what it needs in the folder and gives further flags of the server
 */
export async function ownPostgres(
  t: Teardown,
  flagsIn: (folder: string) => readonly string[] = () => ['-c', 'fsync=off'],
): Promise<OwnServer | null> {
  const bin = binaries();
  const as = processOwner();
  if (bin === null || as === null) return null;
  const folder = mkdtempSync(join(tmpdir(), `throughline-pg-${RUN}-`));
  if (as.uid !== undefined) chownSync(folder, as.uid, as.gid ?? as.uid);
  const more = flagsIn(folder);
  if (as.uid !== undefined)
    for (const name of readdirSync(folder)) chownSync(join(folder, name), as.uid, as.gid ?? as.uid);
  const data = join(folder, 'data');
  const made = spawnSync('cp', ['-a', clusterOf(bin, as), data]);
  if (made.status !== 0) throw new Error(`a fresh cluster cannot be copied: ${String(made.stderr)}`);
  const port = await freePort();
  let program: ServerProgram | null = null;
  const flags = ['-D', data, '-p', String(port), '-k', folder, '-c', 'listen_addresses=127.0.0.1'];
  const start = async (): Promise<void> => {
    program = await startProgram(join(bin, 'postgres'), [...flags, ...more], {
      ...as,
      ready: /ready to accept connections/,
    });
  };
  // Immediate: https://www.postgresql.org/docs/current/server-shutdown.html
  const stop = async (): Promise<void> => await program?.stop('SIGQUIT');
  t.teardown(async () => {
    await stop();
    rmSync(folder, { recursive: true, force: true });
  });
  await start();
  const local = new pg.Client({ host: folder, port, user: 'throughline', database: 'postgres' });
  await local.connect();
  await local.query(`ALTER ROLE throughline PASSWORD 'right/pass word'`);
  const { rows } = await local.query<{ server_version: string }>('SHOW server_version');
  await local.end();
  const base = `postgresql://throughline:${encodeURIComponent('right/pass word')}@127.0.0.1:${port}/postgres`;
  const name = `PostgreSQL ${rows[0]?.server_version} from ${bin}`;
  return { name, real: true, folder, start, stop, url: (more = '') => schemaOf(base, more) };
}

/**
 * Folder of a fresh cluster, to be copied: initdb takes a second of CPU, a copy a twentieth of that. Made once for each
 * version, beside the other caches of the tests.
 */
function clusterOf(bin: string, as: ProcessOwner): string {
  const { size, mtimeMs } = statSync(join(bin, 'postgres'));
  const cluster = join(
    CLUSTERS,
    `${basename(dirname(bin))}-${size}-${Math.trunc(mtimeMs)}-${as.uid ?? 'own'}`,
  );
  if (existsSync(cluster)) return cluster;
  const folder = mkdtempSync(join(tmpdir(), `throughline-pg-${RUN}-`));
  if (as.uid !== undefined) chownSync(folder, as.uid, as.gid ?? as.uid);
  const data = join(folder, 'data');
  const flags = ['-D', data, '-U', 'throughline', '--auth-host=scram-sha-256', '--auth-local=trust'];
  const more = ['-N', '-E', 'UTF8', '--no-locale', '--wal-segsize=1'];
  const made = spawnSync(join(bin, 'initdb'), [...flags, ...more], { ...as, encoding: 'utf8' });
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`);
  // Several processes may make one: each copies its own beside the place and gives it the name, if that is still free.
  mkdirSync(CLUSTERS, { recursive: true });
  const copy = mkdtempSync(`${cluster}-`);
  const copied = spawnSync('cp', ['-a', data, copy], { encoding: 'utf8' });
  if (copied.status !== 0) throw new Error(`the fresh cluster cannot be kept: ${copied.stderr}`);
  try {
    renameSync(join(copy, 'data'), cluster);
  } catch (error) {
    if (!existsSync(cluster)) throw error;
  }
  rmSync(copy, { recursive: true, force: true });
  rmSync(folder, { recursive: true, force: true });
  return cluster;
}

function binaries(): string | null {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [
    ...versions.map((version) => join(debian, version, 'bin')),
    ...(process.env['PATH'] ?? '').split(delimiter),
  ];
  return folders.find((folder) => folder !== '' && existsSync(join(folder, 'initdb'))) ?? null;
}

/** PostgreSQL does not run as root: then as its own user, who must be there. */
function processOwner(): ProcessOwner | null {
  if (process.getuid?.() !== 0) return { cwd: tmpdir() };
  const id = (flag: string): number =>
    Number(spawnSync('id', [flag, 'postgres'], { encoding: 'utf8' }).stdout || NaN);
  const [uid, gid] = [id('-u'), id('-g')];
  return Number.isInteger(uid) && Number.isInteger(gid) ? { uid, gid, cwd: tmpdir() } : null;
}
