// `throughline healthcheck`: asks the proxy on this machine whether it is ready. For `HEALTHCHECK` of an image and for
// scripts, so it needs no key, and of the configuration it reads no more than whether the ports speak TLS.
import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import { get as getSecure, type RequestOptions } from 'node:https';
import { resolve } from 'node:path';
import type { Tree } from '../../config/tree.ts';
import { asError } from '../base/as-error.ts';
import { amountOf } from './admin-call.ts';
import { whyNoAnswer } from './no-answer.ts';
import { CONFIG_FLAG, portOf, UsageError, type Define, type Terminal } from './terminal.ts';

const DESCRIPTION = `Asks the proxy on this machine whether it is ready (GET /health/readiness). Exit code 0 when it is, 1 when it is
not or does not answer, and one line that says why.`;

const DEFAULT_PORT = 4000;
/** Below the 5 s that the image gives the whole command. */
const TIMEOUT_S = 3;
const PATH = '/health/readiness';
/** What a server binds to listen on all addresses; as a destination these have no defined meaning. */
const ALL_ADDRESSES: readonly string[] = ['', '0.0.0.0', '::', '[::]', '*'];
/** The certificate of the proxy, where it is not stated in the configuration: its ports then speak TLS alone. */
const CERTIFICATE = 'SSL_CERTFILE_PATH';
/** Without one of these words no configuration states TLS: one with thousands of models takes seconds to parse. */
const MAY_STATE_TLS = new RegExp(`tls|include|${CERTIFICATE}`);
/** Of an answer, to say why: the issues of a configuration can be long. */
const LONGEST_ANSWER = 300;

interface Flags {
  readonly config?: string | undefined;
  readonly url?: string | undefined;
  readonly port?: string | undefined;
  readonly timeout: number;
}

export const healthcheck: Define = (command, terminal) => {
  command
    .description(DESCRIPTION)
    .option('--port <port>', 'its port (or PORT; default: 4000)')
    .option(
      '--url <url>',
      `its address, where it is not http://127.0.0.1:PORT (https:// with ${CERTIFICATE} or general_settings.tls)`,
    )
    .option(CONFIG_FLAG[0], 'its configuration, which may state tls (or CONFIG_FILE_PATH)')
    .option('--timeout <seconds>', 'longest wait for the answer', amountOf('--timeout'), TIMEOUT_S)
    .action(async (flags) => terminal.exitWith(await ask(flags, terminal)));
};

async function ask(flags: Flags, terminal: Terminal): Promise<number> {
  if (flags.timeout <= 0) throw new UsageError('--timeout must be above 0');
  const trusted = flags.url === undefined ? await trustedOf(flags, terminal) : null;
  const url = urlOf(flags, trusted === null ? 'http' : 'https', terminal);
  try {
    const { status, text } = await answerOf(url, flags.timeout * 1000, tlsOf(trusted));
    if (status === 200) {
      terminal.out('ready\n');
      return 0;
    }
    const shown = text
      .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
      .trim()
      .slice(0, LONGEST_ANSWER);
    terminal.err(`not ready: ${url.href} answers ${status} ${shown}\n`);
  } catch (error) {
    const isLate = asError(error).name === 'TimeoutError';
    const why = isLate ? `no answer within ${flags.timeout} s` : whyNoAnswer(error, url);
    terminal.err(`not ready: ${url.href} (${why})\n`);
  }
  return 1;
}

function urlOf({ url, port }: Flags, scheme: 'http' | 'https', terminal: Terminal): URL {
  if (url !== undefined) {
    if (!/^https?:\/\//i.test(url) || !URL.canParse(url))
      throw new UsageError(`--url ${url} is no URL of a proxy - for example http://127.0.0.1:4000`);
    return new URL(PATH, url);
  }
  const stated = terminal.env['HOST'] ?? '';
  const host = ALL_ADDRESSES.includes(stated) ? '127.0.0.1' : stated;
  const authority = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
  const text = `${scheme}://${authority}:${portOf(port, terminal, DEFAULT_PORT)}${PATH}`;
  if (!URL.canParse(text)) throw new UsageError(`HOST ${stated} is no host name or address`);
  return new URL(text);
}

/** How the proxy is known when its ports speak TLS: by a file with its certificate, or by being the one on that port. */
type Trusted = { readonly file: string } | 'any';

/** null: its ports speak no TLS. */
async function trustedOf({ config }: Flags, { env, cwd }: Terminal): Promise<Trusted | null> {
  const file = (env[CERTIFICATE] ?? '').trim();
  if (file !== '') return { file };
  const path = config ?? env['CONFIG_FILE_PATH'] ?? '';
  return path !== '' && (await statesTls(resolve(cwd, path))) ? 'any' : null;
}

/** @param path one that cannot be read or parsed states nothing: the proxy may serve on with what it read before */
async function statesTls(path: string): Promise<boolean> {
  try {
    if (!MAY_STATE_TLS.test(readFileSync(path, 'utf8'))) return false;
  } catch {
    return false;
  }
  const [{ readSource }, { readTextAgain }, { memberOf }] = await Promise.all([
    import('../../config/source.ts'),
    import('../../config/read.ts'),
    import('../../config/tree.ts'),
  ]);
  const read = readSource(path, readTextAgain);
  if (!read.ok) return false;
  const [general, own] = ['general_settings', 'environment_variables'].map((name) =>
    memberOf(read.source.tree, name),
  );
  return [memberOf(general, 'tls'), memberOf(own, CERTIFICATE)].some(isFilled);
}

/** What is empty counts as left out: the ports then speak plain HTTP. */
const isFilled = (tree: Tree | undefined): boolean =>
  tree !== undefined && (tree.kind !== 'scalar' || String(tree.value ?? '').trim() !== '');

/**
 * That the proxy itself answers is shown by the certificate that the environment names: which authority made it, and for what name,
 * says nothing here. The one of a configuration may be a reference, or newer than what is served: it is taken on trust, as a port
 * without TLS is. No key is sent. @throws the system's error
 */
function tlsOf(trusted: Trusted | null): RequestOptions {
  if (trusted === null) return {};
  if (trusted === 'any') return { rejectUnauthorized: false };
  return {
    ca: readFileSync(trusted.file),
    allowPartialTrustChain: true,
    checkServerIdentity: () => undefined,
  };
}

/** On `node:http`, because `fetch` refuses some ports that a proxy may have (6000). The whole answer counts as one wait. */
function answerOf(
  url: URL,
  timeoutMs: number,
  tls: RequestOptions,
): Promise<{ readonly status: number; readonly text: string }> {
  const signal = AbortSignal.timeout(timeoutMs);
  const send = url.protocol === 'https:' ? getSecure : get;
  return new Promise((settle, reject) => {
    const fail = (error: Error): void => reject(signal.reason instanceof Error ? signal.reason : error);
    const request = send(url, { ...tls, agent: false, signal }, (response) => {
      let text = '';
      response
        .setEncoding('utf8')
        .on('data', (part: string) => (text += text.length > LONGEST_ANSWER ? '' : part));
      response.on('error', fail);
      response.on('end', () => settle({ status: response.statusCode ?? 0, text }));
    });
    request.on('error', fail);
  });
}
