// A ClickHouse as the command line writes to it, over its HTTP interface (https://clickhouse.com/docs/interfaces/http): where it
// is, with which user and password, and its refusals as one line.
import { resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { bytesOf } from '../../config/read.ts';
import { Secret } from '../../config/secret.ts';
import { asError } from '../base/as-error.ts';
import { CannotStart } from '../errors/cannot-start.ts';
import type { ClickHouseTable } from '../spend/report/clickhouse.ts';
import { UsageError, type Terminal } from './terminal.ts';
import { cannotRead } from './unreadable.ts';

const EXAMPLE = 'clickhouse://user@clickhouse.example.com:8123/default.throughline_spend';
const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;
const HTTP_PORT = '8123';
const VARIABLE = 'CLICKHOUSE_PASSWORD';
const LONGEST_PASSWORD = 64 * 1024;
const ANSWER_MS = 120_000;
const LONGEST_REFUSAL = 400;
const LONGEST_ANSWER = 64 * 1024;
const CONTROL = /[\p{Cc}\p{Cf}\s]+/gu;

interface ClickHousePlace extends ClickHouseTable {
  readonly origin: string;
  readonly user: string;
  /** null = the user has none. */
  readonly password: Secret | null;
}

/**
 * `clickhouse://user@host:8123/db.table`, or the same with `http://` and `https://`.
 * @throws UsageError when it is none, and for a password in it: other users of a machine see the arguments of a process
 */
export function placeOfClickHouse(
  text: string,
  passwordFile: string | undefined,
  terminal: Terminal,
): ClickHousePlace {
  const [, scheme = '', rest = ''] = /^(clickhouse|https?):\/\/(.*)$/is.exec(text) ?? [];
  const isSecure = scheme.toLowerCase() === 'https';
  const url = scheme === '' ? null : URL.parse(`${isSecure ? 'https' : 'http'}://${rest}`);
  if (url === null || url.hostname === '')
    throw new UsageError(`--to is no address of a ClickHouse - for example ${EXAMPLE}`);
  if (url.password !== '')
    throw new UsageError(`--to holds a password - set ${VARIABLE}, or give --password-file`);
  if (url.search !== '' || url.hash !== '')
    throw new UsageError('--to has a query, which nothing would read - remove what begins with ? or #');
  const names = url.pathname.split(/[/.]/).filter((name) => name !== '');
  const [database = '', table = ''] = names.length === 1 ? ['default', ...names] : names;
  if (names.length > 2 || !NAME.test(database) || !NAME.test(table))
    throw new UsageError(
      `--to names no table - write its database and name in letters, digits and _ , for example ${EXAMPLE}`,
    );
  if (scheme.toLowerCase() === 'clickhouse' && url.port === '') url.port = HTTP_PORT;
  const user = decoded(url.username) || (terminal.env['CLICKHOUSE_USER'] ?? '') || 'default';
  if (user.includes(':')) throw new UsageError('the user of --to has a colon, which HTTP cannot carry');
  return { origin: url.origin, database, table, user, password: passwordOf(passwordFile, terminal) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new UsageError('the user of --to is not valid percent-encoding');
  }
}

function passwordOf(flag: string | undefined, { env, cwd }: Terminal): Secret | null {
  const named = flag ?? env[`${VARIABLE}_FILE`] ?? '';
  if (named === '') return secretOf(env[VARIABLE] ?? '');
  let text: string;
  try {
    text = (bytesOf(resolve(cwd, named), LONGEST_PASSWORD) ?? Buffer.alloc(0)).toString('utf8');
  } catch (error) {
    throw cannotRead(`the password file ${named}`, error);
  }
  return secretOf(text.replace(/\r?\n$/, ''));
}

const secretOf = (password: string): Secret | null => (password === '' ? null : new Secret(password));

/** The server refuses, or does not answer. */
export class ClickHouseFault extends Error {
  override readonly name = 'ClickHouseFault';
  /** The same request may succeed later. */
  readonly isPassing: boolean;

  constructor(message: string, isPassing: boolean) {
    super(message);
    this.isPassing = isPassing;
  }
}

/**
 * Codes of `X-ClickHouse-Exception-Code` that pass: too slow, too busy, no memory, no parts, keeper or replica away.
 * https://github.com/ClickHouse/ClickHouse/blob/master/src/Common/ErrorCodes.cpp
 */
const PASSING: ReadonlySet<number> = new Set([
  3, 159, 164, 202, 209, 210, 225, 236, 241, 242, 244, 252, 254, 285, 286, 319, 394, 425, 439, 473, 499, 745,
  999,
]);
const FIXES: Readonly<Record<number, string>> = {
  16: 'the table lacks a column: run it once with --create, which adds what is missing',
  60: 'give --create to make the table',
  81: 'make the database: CREATE DATABASE',
  117: 'the table lacks a column: run it once with --create, which adds what is missing',
  192: 'see the user of --to',
  193: `see the user of --to and ${VARIABLE}`,
  194: `set ${VARIABLE}, or give --password-file`,
  497: 'grant the user INSERT on the table, and with --create also CREATE TABLE and ALTER',
  516: `see the user of --to and ${VARIABLE}`,
};

export class ClickHouse {
  /** For people; has no password. */
  readonly shown: string;
  readonly #place: ClickHousePlace;

  constructor(place: ClickHousePlace) {
    this.#place = place;
    this.shown = `${place.origin}/${place.database}.${place.table}`;
  }

  /** A statement without data. @throws ClickHouseFault */
  run(statement: string): Promise<void> {
    return this.#post({}, Buffer.from(statement), {});
  }

  /** @param lines JSONEachRow. @throws ClickHouseFault */
  insert(statement: string, lines: string): Promise<void> {
    const settings = { query: statement, date_time_input_format: 'best_effort' };
    return this.#post(settings, gzipSync(lines), { 'content-encoding': 'gzip' });
  }

  async #post(
    settings: Readonly<Record<string, string>>,
    body: Buffer<ArrayBuffer>,
    headers: Readonly<Record<string, string>>,
  ): Promise<void> {
    const { origin, user, password } = this.#place;
    // The answer waits for the end: a status that was sent before could not tell of what fails after it.
    const query = new URLSearchParams({ ...settings, wait_end_of_query: '1' });
    let response: Response;
    let text: string;
    try {
      response = await fetch(`${origin}/?${query.toString()}`, {
        method: 'POST',
        headers: {
          'content-type': 'text/plain; charset=utf-8',
          // Not X-ClickHouse-Key: a header loses blanks at its ends, and takes no other script.
          authorization: `Basic ${Buffer.from(`${user}:${password?.reveal() ?? ''}`).toString('base64')}`,
          ...headers,
        },
        body,
        redirect: 'error', // the password is for this server alone
        signal: AbortSignal.timeout(ANSWER_MS),
      });
      text = (await response.text()).slice(0, LONGEST_ANSWER);
    } catch (error) {
      const { cause, message } = asError(error);
      const why = cause instanceof Error ? cause.message || cause.name : message;
      throw new ClickHouseFault(`${this.shown} does not answer (${this.#clean(why)})`, true);
    }
    const code = codeOf(response, text);
    if (response.ok && code === null) return;
    const isPassing = code === null ? [408, 429, 502, 503, 504].includes(response.status) : PASSING.has(code);
    const fix = FIXES[code ?? 0];
    throw new ClickHouseFault(
      `${this.shown} answers ${response.status}: ${this.#clean(text) || 'nothing more'}${fix === undefined ? '' : ` - ${fix}`}`,
      isPassing,
    );
  }

  /** One line, without the password that a message may quote. */
  #clean(text: string): string {
    const { password } = this.#place;
    const bare = password === null ? text : text.replaceAll(password.reveal(), '[secret]');
    return bare.replaceAll(CONTROL, ' ').trim().slice(0, LONGEST_REFUSAL);
  }
}

/** The code of an exception; null = there is none. A fault after the head of an answer stands in its text alone. */
function codeOf({ headers }: Response, text: string): number | null {
  const stated = headers.get('x-clickhouse-exception-code') ?? /^Code: (\d+)\. DB::/m.exec(text)?.[1];
  const code = Number(stated ?? NaN);
  return Number.isSafeInteger(code) ? code : null;
}

/** A fault as the end of a command. */
export const asEnd = (error: unknown): unknown =>
  error instanceof ClickHouseFault ? new CannotStart(error.message) : error;
