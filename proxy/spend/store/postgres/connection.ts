// One connection to PostgreSQL that reconnects by itself: made when it is needed, given up at any error, made again by the next
// use. Never two at a time, never a query outside `use`.
import type { Client } from 'pg';
import { asError } from '../../../base/as-error.ts';
import { endClient, openClient } from './client.ts';
import type { DatabaseData } from './settings.ts';
import { DatabaseSilence } from './silence.ts';
import { StoreUnavailable } from '../store.ts';

/** What a connection is made with. */
interface PgConnectionOptions<T> {
  readonly database: DatabaseData;
  /** Longest time of one statement. */
  readonly timeoutMs: number;
  /** Shared with the other connections of this process; absent: there are none. They are closed together. */
  readonly silence?: DatabaseSilence;
  /** Makes of each new connection what tasks are given. */
  readonly prepare: (client: Client) => Promise<T>;
}

interface Connected<T> {
  readonly client: Client;
  readonly ready: T;
}

/** One connection, and one task at a time on it. */
export class PgConnection<T> {
  readonly #options: PgConnectionOptions<T>;
  readonly #silence: DatabaseSilence;
  #connected: Connected<T> | null = null;
  #last: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(options: PgConnectionOptions<T>) {
    this.#options = options;
    this.#silence = options.silence ?? DatabaseSilence.of(options.database);
  }

  /**
   * Runs `task` when those before it have ended.
   * @throws StoreUnavailable with what is wrong and how to fix it; the connection is gone then, unless the task has thrown it,
   * of something else
   */
  use<R>(task: (ready: T) => Promise<R>): Promise<R> {
    const result = this.#last.then(() => this.#run(task));
    this.#last = result.catch(() => undefined);
    return result;
  }

  /** Ends the connection under whatever runs on it. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#silence.close();
    await this.#drop();
  }

  async #run<R>(task: (ready: T) => Promise<R>): Promise<R> {
    if (this.#closed) throw new StoreUnavailable('closed', 'the store is closed');
    if (this.#silence.error !== null) throw this.#unavailable(this.#silence.error);
    try {
      this.#connected ??= await this.#connect();
      return await this.#silence.until(task(this.#connected.ready));
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
      await this.#drop();
      throw this.#unavailable(error);
    }
  }

  #unavailable(error: unknown): StoreUnavailable {
    return new StoreUnavailable('unavailable', explain(asError(error), this.#options.database));
  }

  async #drop(): Promise<void> {
    const connected = this.#connected;
    this.#connected = null;
    if (connected !== null) await endClient(connected.client);
  }

  async #connect(): Promise<Connected<T>> {
    const { database, timeoutMs, prepare } = this.#options;
    const client = await openClient(database, timeoutMs).catch((error: unknown) => {
      this.#silence.connectionFailed(error);
      throw error;
    });
    // Lost while idle: the next use makes another one.
    client.on('end', () => {
      if (this.#connected?.client === client) this.#connected = null;
    });
    try {
      return { client, ready: await this.#silence.until(prepare(client)) };
    } catch (error) {
      await endClient(client);
      throw error;
    }
  }
}

/** How to fix it, by SQLSTATE: https://www.postgresql.org/docs/current/errcodes-appendix.html */
const FIXES: Readonly<Record<string, string>> = {
  '28P01': 'check user and password in database_url',
  '28000': 'check user, password and sslmode in database_url, and pg_hba.conf of the server',
  '3D000': 'create the database, or name another one in database_url',
  '42501': 'grant the user CREATE on the database, or create the schema and make the user its owner',
  '53300': 'raise max_connections of the server; each process needs three',
  '53100': 'free space on the disk of the server',
};

/** What never reaches the server's statements has a code of Node, or of the driver a text alone. */
const FIXES_BEFORE: readonly (readonly [said: RegExp, fix: string])[] = [
  [
    /does not support SSL connections/,
    'turn TLS on at the server (ssl = on), or set sslmode=disable in database_url',
  ],
  [/password must be a(?: non-empty)? string/, 'put the password of the user into database_url'],
  [
    /SELF_SIGNED|UNABLE_TO_(?:VERIFY|GET_ISSUER)/,
    'name the certificate of its authority in sslrootcert of database_url',
  ],
  [
    /ERR_TLS_CERT_ALTNAME_INVALID/,
    'use the name in database_url that the certificate is for, or sslmode=verify-ca',
  ],
  [/, open '/, 'check the files of sslrootcert, sslcert and sslkey in database_url'],
];
const UNREACHABLE = 'see that the server runs and can be reached from here';
/** Has a digit, which codes of Node have not (`EPIPE`). Classes 08 and 57 say that the server is away, or not ready yet. */
const OF_SERVER = /^(?!08|57)(?=.*\d)[\dA-Z]{5}$/;

function fixOf(code: string, text: string): string {
  const said = `${code} ${text}`;
  return (
    FIXES[code] ??
    FIXES_BEFORE.find(([pattern]) => pattern.test(said))?.[1] ??
    (OF_SERVER.test(code) ? 'see what the log of the server says of it' : UNREACHABLE)
  );
}

function explain(error: Error, { shown, user }: DatabaseData): string {
  const code = (error as { code?: string }).code ?? '';
  // An error of several addresses has its texts inside.
  const text =
    error instanceof AggregateError
      ? error.errors.map((one) => asError(one).message).join(', ')
      : error.message;
  return (
    `the database ${shown} cannot be used by ${user}: ${text}${code === '' ? '' : ` (${code})`} - ${fixOf(code, text)}; ` +
    `the journal keeps all records meanwhile`
  );
}

/**
 * Begins a transaction. What it has locked is free after so many milliseconds without a word: of a server that has lost its power or
 * its network the database would wait for hours, and all other servers with it.
 */
export const BEGIN = 'BEGIN; SET LOCAL idle_in_transaction_session_timeout = 10000';

/** Runs `task` in a transaction. */
export async function inTransaction<T>(client: Client, task: () => Promise<T>): Promise<T> {
  await client.query(BEGIN);
  try {
    const value = await task();
    await client.query('COMMIT');
    return value;
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined); // the connection is given up anyway
    throw error;
  }
}
