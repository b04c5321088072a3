// `throughline replay`: makes a recorded call again and compares the two responses, or plays the recorded one back.
import { errorCode } from '../../config/error-code.ts';
import { asError } from '../base/as-error.ts';
import { systemClock } from '../base/clock.ts';
import { isObject, parseJson } from '../bodies/json.ts';
import { openCapsule, type Capsule, type CapsuleContent } from '../capsule/format.ts';
import { compare } from '../capsule/replay/compare.ts';
import { playBack } from '../capsule/replay/play-back.ts';
import {
  attemptAt,
  requestOf,
  responseOf,
  type RecordedRequest,
  type Side,
} from '../capsule/replay/recorded.ts';
import { sendAgain } from '../capsule/replay/send-again.ts';
import { CannotOpen } from '../capsule/seal.ts';
import { CannotStart } from '../errors/cannot-start.ts';
import { ADMIN_FLAGS, amountOf, foundKey, type AdminFlags } from './admin-call.ts';
import { capsuleIn, orCannotOpen, privateKeyIn } from './capsule-file.ts';
import { jsonText } from './print.ts';
import { comparisonText, progressTo } from './replay-text.ts';
import { choice, onStop, portOf, UsageError, type Define, type Terminal } from './terminal.ts';

const DETAILS = `
--against MODEL calls the running proxy (--url) as the client did, for MODEL;
--against URL calls a gateway as the proxy did, below that api_base.

Exit code 0 when the responses are the same (ids and clocks apart), 1 when they
differ, 2 when the command line is wrong, 3 when the capsule does not open or
does not hold what is needed.`;
const TIMEOUT_S = 600;

interface Flags extends AdminFlags {
  readonly against?: string | undefined;
  readonly serve?: string | undefined;
  readonly privateKey: string;
  readonly attempt?: number | undefined;
  readonly timing: 'recorded' | 'none';
  readonly timeout: number;
  readonly json?: true | undefined;
}

export const replay: Define = (command, terminal) => {
  command
    .description('Repeats a recorded call and compares the responses, or plays the recorded one back.')
    .argument('<file>', 'a capsule, as `capsule show ID --out FILE` writes it')
    .requiredOption('--private-key <file>', 'the private key of general_settings.capsules.public_key')
    .option(
      '--against <model|url>',
      'what to call: a model of the running proxy, or the api_base of a gateway',
    )
    .option('--serve <port>', 'answer calls on this port of this machine as the gateway did; 0 = any')
    .option('--attempt <n>', 'which attempt of the call (default: the last)', amountOf('--attempt'))
    .addOption(
      choice('--timing <how>', 'for --serve: at the recorded times, or all at once', [
        'recorded',
        'none',
      ]).default('recorded' as const),
    )
    .option('--timeout <seconds>', 'longest wait for the whole response', amountOf('--timeout'), TIMEOUT_S)
    .option(...ADMIN_FLAGS.url)
    .option(
      '--key-file <file>',
      'file with the key for what is called (for a model also THROUGHLINE_MASTER_KEY, ...)',
    )
    .option(...ADMIN_FLAGS.json)
    .addHelpText('after', DETAILS)
    .action(async (name, flags) => terminal.exitWith(await run(name, flags, terminal)));
};

async function run(name: string, flags: Flags, terminal: Terminal): Promise<number> {
  if ((flags.against === undefined) === (flags.serve === undefined))
    throw new UsageError('say what to do - give --against MODEL or URL, or --serve PORT');
  return orCannotOpen(terminal, async () => {
    const key = privateKeyIn(flags.privateKey, terminal);
    const capsule = capsuleIn(name, terminal);
    const opened = { capsule, content: openCapsule(capsule, key), attempt: attemptOf(flags, capsule) };
    return flags.against === undefined
      ? await serve(opened, flags, terminal)
      : await repeat(opened, flags.against, flags, terminal);
  });
}

interface Opened {
  readonly capsule: Capsule;
  readonly content: CapsuleContent;
  /** From 0. */
  readonly attempt: number;
}

function attemptOf({ attempt }: Flags, { metadata }: Capsule): number {
  if (attempt === undefined) return Math.max(0, metadata.attempts.length - 1);
  if (!Number.isInteger(attempt) || attempt < 1) throw new UsageError('--attempt counts from 1');
  return attempt - 1;
}

async function repeat(opened: Opened, against: string, flags: Flags, terminal: Terminal): Promise<number> {
  const { capsule, content, attempt } = opened;
  const { metadata } = capsule;
  if (metadata.call['path'] !== undefined)
    throw new CannotOpen(
      'a call on a stored response belongs to the gateway that has it, so it is not made again; use --serve',
    );
  const isUrl = /^https?:\/\//i.test(against);
  const side: Side = isUrl ? { is: 'gateway', attempt } : { is: 'client' };
  const recorded = responseOf(metadata, content, side);
  const request = requestOf(metadata, content, side);
  const endpoint = String(metadata.call['endpoint'] ?? '');
  if (!/^[\w/-]{1,100}$/.test(endpoint)) throw new CannotOpen('the capsule names no endpoint');
  const base = isUrl ? baseOf(against) : `${flags.url.replace(/\/+$/, '')}/v1`;
  const url = `${base}/${endpoint}`;
  // A key of the environment is for the proxy alone.
  const key = isUrl && flags.keyFile === undefined ? null : foundKey(flags.keyFile, terminal);
  if (flags.json !== true) terminal.err(`POST ${url}${isUrl ? '' : ` for ${against}`}\n`);
  const progress = progressTo(flags.json === true ? null : terminal.err);
  const replayed = await sendAgain(
    isUrl ? request : forModel(request, against),
    { url, method: 'POST', key: key?.reveal() ?? null },
    AbortSignal.timeout(Math.max(1, flags.timeout) * 1000),
    systemClock.mono,
    progress,
  );
  const comparison = { ...compare(recorded, replayed), why: replayed.why };
  terminal.out(flags.json === true ? jsonText(comparison) : comparisonText(comparison));
  return comparison.verdict === 'different' ? 1 : 0;
}

/** @throws UsageError */
function baseOf(text: string): string {
  const url = URL.parse(text);
  if (url === null) throw new UsageError(`--against ${text} is no URL`);
  if (url.username !== '' || url.password !== '')
    throw new UsageError('--against names a user or a password - the key comes from --key-file');
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

/** The client's request for another model. @throws CannotOpen for a body that is no JSON object */
function forModel({ headers, body }: RecordedRequest, model: string): RecordedRequest {
  const parsed = parseJson(body.toString('utf8'));
  if (parsed === undefined)
    throw new CannotOpen('the recorded request is no JSON, so another model cannot be asked for; use a URL');
  if (!isObject(parsed)) throw new CannotOpen('the recorded request is no JSON object');
  if (parsed['model'] === model) return { headers, body };
  return { headers, body: Buffer.from(JSON.stringify({ ...parsed, model })) };
}

async function serve(
  { capsule, content, attempt }: Opened,
  flags: Flags,
  terminal: Terminal,
): Promise<number> {
  const { metadata } = capsule;
  const recorded = responseOf(metadata, content, { is: 'gateway', attempt });
  const { end, model } = attemptAt(metadata, attempt);
  if (recorded.status !== null && recorded.isCut)
    terminal.err('note: the response was cut at capsules.max_capsule_bytes; what follows is missing\n');
  const port = portOf(flags.serve, terminal, 0);
  const told = (line: string): void => terminal.err(`${line.slice(0, 200)}\n`);
  const playback = await playBack(
    { ...recorded, last: end },
    { port, model, method: String(metadata.call['method'] ?? 'POST'), isTimed: flags.timing === 'recorded' },
    told,
  ).catch((error: unknown) => {
    throw new CannotStart(`port ${port} cannot be used (${errorCode(error) ?? asError(error).message})`);
  });
  const stopped = new Promise<void>((stop) => onStop(terminal, stop));
  terminal.out(`playing ${metadata.id} back at ${playback.url}/v1\n`);
  await stopped;
  await playback.close();
  return 0;
}
