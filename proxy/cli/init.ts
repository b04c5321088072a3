// `throughline init`: four questions, or four flags, and a first configuration stands there: checked, without a secret.
import { existsSync, rmSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { formatIssue } from '../../config/issue.ts';
import { checkText } from '../../config/check-text.ts';
import { Secret } from '../../config/secret.ts';
import {
  checkBase,
  firstConfig,
  GATEWAY_WORDS,
  MASTER_VARIABLE,
  type GatewayWord,
} from '../../config/first-config.ts';
import { CannotStart } from '../errors/cannot-start.ts';
import { whyNoAnswer } from './no-answer.ts';
import { schemaComment, writeNew } from './write-file.ts';
import { choice, oneOf, portOf, UsageError, type Define, type Terminal } from './terminal.ts';

const DESCRIPTION = `Writes a first configuration and a .env.example. Asks for what no flag says; without a terminal, or with --yes, nothing
is asked, and --url and --models are needed. The file names the variable of the gateway's key and never holds the key.`;

const ANSWER_MS = 10_000;
const MOST_MODELS = 500;
const SHOWN_MODELS = 40;
const VARIABLE = /^[A-Za-z_]\w*$/;
const DEFAULT_PORT = 4000;
const NO_TERMINAL = 'nobody can be asked here';

interface Flags {
  readonly url?: string | undefined;
  readonly gateway?: GatewayWord | undefined;
  readonly keyVariable?: string | undefined;
  readonly models?: string | undefined;
  readonly port?: string | undefined;
  readonly out: string;
  readonly force?: true | undefined;
  readonly yes?: true | undefined;
}

export const init: Define = (command, terminal) => {
  command
    .description(DESCRIPTION)
    .option('--url <url>', 'address of the gateway')
    .addOption(choice('--gateway <kind>', 'kind of the gateway', GATEWAY_WORDS))
    .option('--key-variable <name>', "environment variable with the gateway's key (default: GATEWAY_KEY)")
    .option('--models <names>', 'names separated by commas, or all: what the gateway lists')
    .option('--port <n>', 'port to serve on (default: 4000)')
    .option('--out <file>', 'where to write', 'gateway.yaml')
    .option('--force', 'replace files that exist')
    .option('--yes', 'ask nothing, take the defaults')
    .action((flags) => run(flags, terminal));
};

async function run(flags: Flags, terminal: Terminal): Promise<void> {
  const ask = promptOf(flags, terminal);
  const missing = [
    ...(flags.url === undefined ? ['--url URL'] : []),
    ...(flags.models === undefined ? ['--models NAMES'] : []),
  ];
  if (missing.length > 0 && (flags.yes === true || terminal.ask === null))
    throw new UsageError(
      `${flags.yes === true ? '--yes asks nothing' : NO_TERMINAL} - give ${missing.join(' and ')}`,
    );
  const url =
    flags.url ?? (await ask('Address of the gateway, e.g. https://gateway.example.com', null, '--url'));
  const word =
    flags.gateway ??
    (await ask(`Kind of the gateway (${GATEWAY_WORDS.join(', ')})`, guess(url), '--gateway'));
  const gateway = oneOf('--gateway', word, GATEWAY_WORDS);
  const base = baseFor(url, gateway);
  const variable =
    flags.keyVariable ??
    (await ask("Environment variable with the gateway's key", 'GATEWAY_KEY', '--key-variable'));
  if (!VARIABLE.test(variable))
    throw new UsageError('--key-variable takes the name of a variable, not a key - for example GATEWAY_KEY');
  const models = await modelsFor(flags, base, variable, ask, terminal);
  const portText = flags.port ?? (await ask('Port to serve on', String(DEFAULT_PORT), '--port'));
  const port = portOf(portText, terminal, DEFAULT_PORT);
  const text = firstConfig({ gateway, base, variable, models });
  const out = resolve(terminal.cwd, flags.out);
  const issues = checkText(flags.out, text, {
    [variable]: 'sample-key',
    [MASTER_VARIABLE]: 'sample-master-key',
  });
  if (issues.length > 0)
    throw new CannotStart(`what was stated gives no configuration: ${issues.map(formatIssue).join('; ')}`);
  const example = join(dirname(flags.out), '.env.example');
  const keepsExample = flags.force !== true && existsSync(resolve(terminal.cwd, example));
  if (!keepsExample) writeNew(example, environmentOf(variable, port), flags.force === true, terminal);
  try {
    writeNew(flags.out, schemaComment(out, text, terminal), flags.force === true, terminal);
  } catch (error) {
    if (!keepsExample && flags.force !== true) rmSync(resolve(terminal.cwd, example), { force: true });
    throw error;
  }
  const count = `${models.length} ${models.length === 1 ? 'model' : 'models'}`;
  terminal.out(
    `written: ${flags.out} with ${count}${keepsExample ? `; ${example} exists and stays` : ` and ${example}`}\n`,
  );
  const names = `${variable} and ${MASTER_VARIABLE}`;
  if (keepsExample) terminal.out(`next, with ${names} set:\n`);
  else {
    const env = join(dirname(flags.out), '.env');
    terminal.out(`next, with ${env}, which you copy from ${example} and put ${names} into:\n`);
    terminal.out(`  ${loadOf(isAbsolute(env) ? env : `./${env}`)}\n`);
  }
  terminal.out(`  throughline serve --config ${flags.out} --port ${port}\n`);
}

type Prompt = (question: string, fallback: string | null, flag: string) => Promise<string>;

/** @throws UsageError when nobody can be asked and there is no default */
function promptOf({ yes }: Flags, terminal: Terminal): Prompt {
  return async (question, fallback, flag) => {
    if (yes === true || terminal.ask === null) {
      if (fallback !== null) return fallback;
      throw new UsageError(`${yes === true ? '--yes asks nothing' : NO_TERMINAL} - give ${flag}`);
    }
    const answer = (await terminal.ask(`${question}${fallback === null ? '' : ` [${fallback}]`}: `)).trim();
    if (answer !== '') return answer;
    if (fallback !== null) return fallback;
    throw new UsageError(`there is no default - answer, or give ${flag}`);
  };
}

/** With /v1 an OpenAI-compatible one, else a proxy of LiteLLM's kind. */
const guess = (url: string): GatewayWord => (/\/v1[a-z0-9]*\/?$/.test(url) ? 'openai' : 'litellm');

/** The address as an entry needs it: with or without /v1, whichever was stated. */
function baseFor(url: string, gateway: GatewayWord): string {
  const check = checkBase(url, gateway);
  if (check.ok) return check.base.shown;
  if (check.instead !== null && !check.message.includes('credentials')) return check.instead;
  const advice = check.advice === '' ? 'for example https://gateway.example.com' : check.advice;
  throw new UsageError(`--url ${check.message} - ${advice}`);
}

async function modelsFor(
  { models: stated, yes }: Flags,
  base: string,
  variable: string,
  ask: Prompt,
  terminal: Terminal,
): Promise<readonly string[]> {
  if (stated !== undefined && stated !== 'all') return namesIn(stated);
  const offered = await offeredBy(base, terminal.env[variable]);
  if (stated === 'all') {
    if (typeof offered === 'string') throw new CannotStart(`--models all: ${offered}`);
    return offered;
  }
  if (typeof offered === 'string') terminal.err(`${offered}\n`);
  else
    terminal.err(
      `the gateway offers: ${offered.slice(0, SHOWN_MODELS).join(', ')}${offered.length > SHOWN_MODELS ? ', ...' : ''}\n`,
    );
  const canAsk = yes !== true && terminal.ask !== null;
  const answer = await ask(
    'Models, separated by commas',
    canAsk && typeof offered !== 'string' ? 'all' : null,
    '--models',
  );
  return answer === 'all' && typeof offered !== 'string' ? offered : namesIn(answer);
}

function namesIn(text: string): readonly string[] {
  const names = [...new Set(text.split(',').map((name) => name.trim()))].filter((name) => name !== '');
  if (names.length === 0) throw new UsageError('no model is named - give --models NAME,NAME');
  return names;
}

/** The names that the gateway lists, or why it lists none. */
async function offeredBy(base: string, key: string | undefined): Promise<readonly string[] | string> {
  const path = /\/v1[a-z0-9]*(?:\/|$)/.test(base) ? '/models' : '/v1/models';
  const secret = new Secret(key ?? '');
  try {
    const response = await fetch(`${base}${path}`, {
      headers: secret.reveal() === '' ? {} : { authorization: `Bearer ${secret.reveal()}` },
      redirect: 'error', // the key is for this gateway alone
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    if (!response.ok) return `the gateway answers ${response.status} when it is asked for its models`;
    const body = (await response.json()) as { readonly data?: readonly { readonly id?: unknown }[] };
    const names = (Array.isArray(body.data) ? body.data : []).flatMap(({ id }: { id?: unknown }) =>
      typeof id === 'string' ? [id] : [],
    );
    // A gateway that repeats the key in its list does not bring it into the file.
    const holdsKey = (name: string): boolean => secret.reveal() !== '' && name.includes(secret.reveal());
    const plain = [...new Set(names)].filter((name) => !/[\p{Cc}\s]/u.test(name) && !holdsKey(name));
    return plain.length === 0 ? 'the gateway lists no models' : plain.slice(0, MOST_MODELS);
  } catch (error) {
    return `the gateway does not answer (${whyNoAnswer(error, new URL(base))})`;
  }
}

/** Puts the variables of a file into the environment of the shell: the program reads no file of them by itself. */
const loadOf = (file: string): string => `set -a; . ${file}; set +a`;

const environmentOf = (
  variable: string,
  port: number,
): string => `# Copy to .env and fill in; keep .env out of version control.
# Nothing reads .env by itself; before throughline serve, in the same shell: ${loadOf('./.env')}
# The gateway's key.
${variable}=
# What clients of this proxy present; for example: openssl rand -hex 24
${MASTER_VARIABLE}=
PORT=${port}
`;
