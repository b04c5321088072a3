// Calls of the command line to the admin API of a running proxy: where it is, with which key, and its refusals as one line.
import { resolve } from 'node:path';
import { asObject, parseJson } from '../bodies/json.ts';
import { bytesOf } from '../../config/read.ts';
import { Secret } from '../../config/secret.ts';
import { CannotStart } from '../errors/cannot-start.ts';
import { whyNoAnswer } from './no-answer.ts';
import { UsageError, type Terminal } from './terminal.ts';
import { cannotRead } from './unreadable.ts';

/** Shared flags, for `option(...)`. A key is never an argument: other users of a machine see the arguments of a process. */
export const ADMIN_FLAGS = {
  url: ['--url <url>', 'the running proxy, or its admin port', 'http://127.0.0.1:4000'],
  keyFile: [
    '--key-file <file>',
    "file with its master key, or an administrator's (or THROUGHLINE_MASTER_KEY, PROXY_MASTER_KEY, LITELLM_MASTER_KEY)",
  ],
  json: ['--json', 'print JSON'],
} as const;

export interface AdminFlags {
  readonly url: string;
  readonly keyFile?: string | undefined;
}

/** Of commands that print. */
export interface PrintFlags extends AdminFlags {
  readonly json?: true | undefined;
}

/** Flags of what a key or a team may call, spend and send, for `option(...)`. */
export const TERM_FLAGS = {
  model: ['--model <names...>', 'models, patterns or access groups it may call (default: all)'],
  maxBudget: ['--max-budget <usd>', 'what it may spend', amountOf('--max-budget')],
  softBudget: ['--soft-budget <usd>', 'alert at this amount', amountOf('--soft-budget')],
  budgetDuration: ['--budget-duration <time>', 'after which the budget begins anew, such as 30d'],
  rpm: ['--rpm <n>', 'requests per minute', amountOf('--rpm')],
  tpm: ['--tpm <n>', 'tokens per minute', amountOf('--tpm')],
  parallel: ['--parallel <n>', 'calls at the same time', amountOf('--parallel')],
} as const;

/** What they say. */
export interface TermFlags {
  readonly model?: readonly string[] | undefined;
  readonly maxBudget?: number | undefined;
  readonly softBudget?: number | undefined;
  readonly budgetDuration?: string | undefined;
  readonly rpm?: number | undefined;
  readonly tpm?: number | undefined;
  readonly parallel?: number | undefined;
}

/** The same as members of a body. */
export const termMembers = (flags: TermFlags): Record<string, unknown> => ({
  models: flags.model,
  max_budget: flags.maxBudget,
  soft_budget: flags.softBudget,
  budget_duration: flags.budgetDuration,
  rpm_limit: flags.rpm,
  tpm_limit: flags.tpm,
  max_parallel_requests: flags.parallel,
});

/** A JSON object as the proxy sends it. */
export type Answer = Readonly<Record<string, unknown>>;

const LONGEST_KEY = 64 * 1024;
const KEY_VARIABLES = ['THROUGHLINE_MASTER_KEY', 'PROXY_MASTER_KEY', 'LITELLM_MASTER_KEY'];
const ANSWER_MS = 60_000;
const LONGEST_REFUSAL = 500;
const CONTROL = /[\p{Cc}\p{Cf}\s]+/gu;

const FIXES: Readonly<Record<number, string>> = {
  401: ' - give its master key with --key-file',
  403: ' - give the master key, or the key of an administrator, with --key-file',
};

/** The admin API of one proxy. */
export class AdminCalls {
  readonly #url: string;
  readonly #key: Secret;

  /**
   * @param key instead of the one that flags and environment name; '' = the proxy is asked without one
   * @throws UsageError without a URL or a key that can be read
   */
  constructor({ url, keyFile }: AdminFlags, terminal: Terminal, key?: Secret) {
    if (!/^https?:\/\//i.test(url) || !URL.canParse(url))
      throw new UsageError(`--url ${url} is no URL of a proxy - for example http://127.0.0.1:4000`);
    const { username, password } = new URL(url);
    if (username !== '' || password !== '')
      throw new UsageError('--url names a user or a password - the key comes from --key-file');
    this.#url = url.replace(/\/+$/, '');
    this.#key = key ?? foundKey(keyFile, terminal) ?? noKey();
  }

  get(path: string, query: Readonly<Record<string, string>> = {}): Promise<unknown> {
    const text = new URLSearchParams(query).toString();
    return this.#send('GET', text === '' ? path : `${path}?${text}`, null);
  }

  /** The rows of a list that comes in pages. */
  async pages(path: string, member: string, query: Readonly<Record<string, string>>): Promise<Answer[]> {
    const rows: Answer[] = [];
    for (let page = 1, pages = 1; page <= pages; page += 1) {
      const answer = recordOf(await this.get(path, { ...query, page: String(page) }));
      rows.push(...recordsIn(answer[member]));
      pages = Number(answer['total_pages']);
    }
    return rows;
  }

  post(path: string, body: Answer): Promise<unknown> {
    return this.#send('POST', path, JSON.stringify(body));
  }

  delete(path: string): Promise<unknown> {
    return this.#send('DELETE', path, null);
  }

  /** An answer that is no JSON document. */
  async bytes(path: string): Promise<Buffer> {
    const { isOk, status, body } = await this.#fetch('GET', path, null);
    if (!isOk) throw this.#refused(status, body.toString('utf8'));
    return body;
  }

  async #send(method: string, path: string, content: string | null): Promise<unknown> {
    const { isOk, status, body } = await this.#fetch(method, path, content);
    const text = body.toString('utf8');
    const answer = parseJson(text);
    if (isOk && answer !== undefined) return answer;
    throw this.#refused(status, text);
  }

  async #fetch(
    method: string,
    path: string,
    body: string | null,
  ): Promise<{ readonly isOk: boolean; readonly status: number; readonly body: Buffer }> {
    try {
      const response = await fetch(`${this.#url}${path}`, {
        method,
        headers: {
          ...(this.#key.reveal() === '' ? {} : { authorization: `Bearer ${this.#key.reveal()}` }),
          ...(body === null ? {} : { 'content-type': 'application/json' }),
        },
        body,
        redirect: 'error', // the key is for this proxy alone
        signal: AbortSignal.timeout(ANSWER_MS),
      });
      return {
        isOk: response.ok,
        status: response.status,
        body: Buffer.from(await response.arrayBuffer()),
      };
    } catch (error) {
      const why = whyNoAnswer(error, new URL(this.#url));
      throw new CannotStart(`the proxy at ${this.#url} does not answer (${why}) - see --url`);
    }
  }

  #refused(status: number, text: string): CannotStart {
    const why = whyOf(parseJson(text)) ?? (text === '' ? 'nothing more' : text);
    const shown = why.replaceAll(CONTROL, ' ').trim().slice(0, LONGEST_REFUSAL);
    return new CannotStart(`the proxy at ${this.#url} answers ${status}: ${shown}${FIXES[status] ?? ''}`);
  }
}

function noKey(): never {
  throw new UsageError(`there is no key for the proxy - give --key-file FILE or set ${KEY_VARIABLES[0]}`);
}

/** The key of the file, else of the environment; null = there is none. @throws UsageError for a file without one */
export function foundKey(keyFile: string | undefined, terminal: Terminal): Secret | null {
  if (keyFile !== undefined) return keyOfFile(keyFile, terminal);
  const key = KEY_VARIABLES.map((name) => terminal.env[name] ?? '').find((value) => value !== '');
  return key === undefined ? null : new Secret(key);
}

function keyOfFile(file: string, { cwd }: Terminal): Secret {
  let text: string;
  try {
    text = (bytesOf(resolve(cwd, file), LONGEST_KEY) ?? Buffer.alloc(0)).toString('utf8').trim();
  } catch (error) {
    throw cannotRead(`--key-file ${file}`, error);
  }
  // Anything else is no header value, and fetch would print it.
  if (/^[\x21-\x7e]+$/.test(text)) return new Secret(text);
  throw new UsageError(`--key-file ${file} holds no key - one line of printable characters without spaces`);
}

/** What a refusal says, in any of the dialect's shapes. */
function whyOf(answer: unknown): string | null {
  const { error, detail } = recordOf(answer);
  const message = recordOf(error)['message'] ?? recordOf(detail)['error'] ?? detail ?? error;
  if (typeof message === 'string') return message;
  if (!Array.isArray(detail)) return null;
  return recordsIn(detail)
    .map(({ loc, msg }) => `${Array.isArray(loc) ? loc.join('.') : ''}: ${String(msg)}`)
    .join('; ');
}

export const recordOf = (value: unknown): Answer => asObject(value) ?? {};

export const recordsIn = (value: unknown): readonly Answer[] =>
  Array.isArray(value) ? value.map(recordOf) : [];

/** A member as text; '' = absent or null. */
export const textOf = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : '';

/** A number from a flag. @throws UsageError when it is none */
export function amountOf(flag: string): (text: string) => number {
  return (text) => {
    const amount = text.trim() === '' ? NaN : Number(text);
    if (Number.isFinite(amount) && amount >= 0) return amount;
    throw new UsageError(`${flag} ${text} is not a number of 0 or more`);
  };
}

/** Without the members that nobody has stated: null would clear what a default sets. */
export const stated = (members: Answer): Answer =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
