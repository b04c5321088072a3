// `throughline doctor`: walks the chain from this machine to every gateway and says which hop is at fault.
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { errorCode } from '../../config/error-code.ts';
import type { Secret } from '../../config/secret.ts';
import { VERSION } from '../active-config/version.ts';
import { systemClock } from '../base/clock.ts';
import { askedOfProxy } from '../doctor/asked-of-proxy.ts';
import { priceOf } from '../doctor/calls.ts';
import { LATENCY_CALLS } from '../doctor/latency.ts';
import { ANSWER_TOKENS, SHORT_TOKENS } from '../doctor/trial-call.ts';
import { CODES, type Code } from '../doctor/codes.ts';
import { runDoctor, type DoctorOptions } from '../doctor/doctor.ts';
import { entriesOf, inspect, type Inspected } from '../doctor/entries.ts';
import { AREAS, type Area } from '../doctor/finding.ts';
import { machineFacts } from '../doctor/machine.ts';
import type { Report } from '../doctor/report.ts';
import { reportText } from '../doctor/text.ts';
import { CannotStart } from '../errors/cannot-start.ts';
import { readProxySettings } from '../upstream/http-proxies.ts';
import { Pools } from '../upstream/pools.ts';
import { amountOf, foundKey } from './admin-call.ts';
import { jsonText } from './print.ts';
import {
  CONFIG_FLAG,
  configPathOf,
  DATA_DIR_FLAG,
  dataDirOf,
  msOf,
  oneOf,
  UsageError,
  type Define,
  type Terminal,
} from './terminal.ts';

const DESCRIPTION = `Walks the chain: machine, configuration, data directory, the running proxy, every gateway. Says what is
wrong, at which hop, and what to change. Changes nothing, and makes no paid call without --send.`;
const DETAILS = `
Exit code 0 when no error was found (with --strict: no warning either), 1 when
one was, 2 when the command line is wrong. docs/doctor.md explains each code.`;

const TIMEOUT_S = 5;
/** On a terminal. */
const COLUMNS = 100;
const NAMES_SHOWN = 100;
const CALL_TIMEOUT_MS = 60_000;
const PAUSE_MS = 2_000;
const LONGEST_PROBE_S = 600;
const DEFAULT_PORT = 4_000;

interface Flags {
  readonly config?: string | undefined;
  readonly dataDir?: string | undefined;
  readonly url?: string | undefined;
  readonly keyFile?: string | undefined;
  readonly only?: readonly string[] | undefined;
  readonly model?: readonly string[] | undefined;
  readonly mute?: readonly string[] | undefined;
  readonly send?: boolean | undefined;
  readonly latency?: boolean | undefined;
  readonly idleProbe?: number | undefined;
  readonly json?: boolean | undefined;
  readonly verbose?: boolean | undefined;
  readonly strict?: boolean | undefined;
  readonly wait?: string | undefined;
  readonly timeout: number;
  readonly grace?: number | undefined;
  readonly bundle?: string | undefined;
}

export const doctor: Define = (command, terminal) => {
  command
    .description(DESCRIPTION)
    .option(...CONFIG_FLAG)
    .option(...DATA_DIR_FLAG)
    .option(
      '--url <url>',
      'the running proxy as clients reach it (default: port 4000 of this machine, if one answers there)',
    )
    .option(
      '--key-file <file>',
      'file with a key of the proxy (or THROUGHLINE_MASTER_KEY, PROXY_MASTER_KEY, LITELLM_MASTER_KEY, or that of the configuration)',
    )
    .option('--send', 'also call each entry once: chat, stream, tool call, usage; the price is said first')
    .option(
      '--latency',
      `with --send: ${LATENCY_CALLS} more calls directly and ${LATENCY_CALLS} through the proxy for one entry of each gateway, and what the proxy adds`,
    )
    .option(
      '--idle-probe <seconds>',
      'have the proxy hold a stream silent for so long, and see whether something in front of it cuts it; at most 600',
      amountOf('--idle-probe'),
    )
    .option('--only <area...>', `parts of the walk: ${AREAS.join(', ')}`)
    .option('--model <name...>', 'entries to look at, by model_name')
    .option('--mute <code...>', 'findings that neither show nor count')
    .option('--strict', 'exit code 1 for warnings, too')
    .option('--wait <time>', 'try again until no error is left, at most so long: 60s, 5m')
    .option('--timeout <seconds>', 'longest wait for each answer', amountOf('--timeout'), TIMEOUT_S)
    .option(
      '--grace <seconds>',
      'time that the process has to end (terminationGracePeriodSeconds)',
      amountOf('--grace'),
    )
    .option('--verbose', 'show each check that passed')
    .option(
      '--bundle <file>',
      'write the report and the resolved settings, without secrets, for a support case',
    )
    .option('--json', 'print JSON, and nothing else')
    .addHelpText('after', DETAILS)
    .action(async (flags) => terminal.exitWith(await examine(flags, terminal)));
};

async function examine(flags: Flags, terminal: Terminal): Promise<number> {
  const areas = areasOf(flags);
  const muted = mutedOf(flags);
  const waitMs = flags.wait === undefined ? 0 : msOf('--wait', flags.wait);
  if (waitMs > 0 && flags.send === true)
    throw new UsageError('--wait repeats the walk and --send costs money each time - wait first, then send');
  if (flags.latency === true && flags.send !== true)
    throw new UsageError('--latency makes calls that cost money - add --send');
  if (flags.idleProbe !== undefined && (flags.idleProbe <= 0 || flags.idleProbe > LONGEST_PROBE_S))
    throw new UsageError(`--idle-probe must be above 0, at most ${LONGEST_PROBE_S}`);
  if (flags.timeout <= 0) throw new UsageError('--timeout must be above 0');
  const url = flags.url === undefined ? null : urlOf(flags.url);
  const isConfigured =
    flags.config !== undefined || url === null || (terminal.env['CONFIG_FILE_PATH'] ?? '') !== '';
  const path = isConfigured ? resolve(terminal.cwd, configPathOf(flags.config, terminal)) : null;
  const stated = foundKey(flags.keyFile, terminal);
  const until = systemClock.mono() + waitMs;
  for (;;) {
    const inspected = path === null ? null : inspect(path, terminal.env);
    checkNames(flags, inspected);
    // First, also where stdout is JSON alone.
    if (flags.send === true) (flags.json === true ? terminal.err : terminal.out)(priceText(flags, inspected));
    const report = await runOnce({ flags, areas, muted, url, path, inspected, stated }, terminal);
    const isBad = report.verdict === 'errors' || (flags.strict === true && report.verdict === 'warnings');
    if (isBad && systemClock.mono() + PAUSE_MS < until) {
      await new Promise((again) => setTimeout(again, PAUSE_MS));
      continue;
    }
    if (flags.json === true) terminal.out(jsonText(report));
    else
      terminal.out(
        reportText(report, {
          colours: terminal.logStyle === 'coloured',
          verbose: flags.verbose === true,
          columns: terminal.logStyle === 'json' ? Infinity : COLUMNS,
        }),
      );
    if (flags.bundle !== undefined) writeBundle(flags.bundle, report, inspected, terminal);
    return isBad ? 1 : 0;
  }
}

interface Examination {
  readonly flags: Flags;
  readonly areas: ReadonlySet<Area>;
  readonly muted: ReadonlySet<Code>;
  readonly url: URL | null;
  readonly path: string | null;
  readonly inspected: Inspected | null;
  readonly stated: Secret | null;
}

async function runOnce(examination: Examination, terminal: Terminal): Promise<Report> {
  const { flags, areas, muted, url, path, inspected, stated } = examination;
  const timeoutMs = flags.timeout * 1000;
  const pools = new Pools(systemClock.mono, readProxySettings(terminal.env));
  const progress = progressOn(terminal, flags.json === true);
  const key = stated ?? inspected?.snapshot?.masterKey ?? null;
  const dataDir = dataDirOf(flags.dataDir, terminal);
  const port = Number(terminal.env['PORT'] ?? '') || DEFAULT_PORT;
  const scheme = (inspected?.snapshot?.tls ?? null) === null ? 'http' : 'https';
  const options: DoctorOptions = {
    version: VERSION,
    areas,
    machine: machineFacts(),
    inspected,
    configName: path ?? 'configuration',
    graceSeconds: flags.grace ?? null,
    data: path === null ? { why: 'a proxy was named by its URL alone' } : { dir: dataDir },
    proxy: { url: url ?? new URL(`${scheme}://127.0.0.1:${port}`), key, isNamed: url !== null },
    models: flags.model ?? [],
    pools,
    send: flags.send === true ? 'both' : 'never',
    latency: flags.latency === true,
    idleProbeS: flags.idleProbe ?? null,
    timeoutMs,
    callTimeoutMs: CALL_TIMEOUT_MS,
    muted,
    clock: systemClock,
    more: path === null && key !== null ? askedOfProxy : null,
    onOutcome: progress.outcome,
    onGateway: progress.gateway,
  };
  try {
    return await runDoctor(options);
  } finally {
    progress.end();
    pools.destroy();
  }
}

/** A name that is not there would be a walk that sees nothing. */
function checkNames({ model = [] }: Flags, inspected: Inspected | null): void {
  const snapshot = inspected?.snapshot ?? null;
  if (snapshot === null) return;
  const names = [...new Set(snapshot.deployments.map(({ group }) => group))];
  for (const name of model) if (!names.includes(name)) oneOf('--model', name, names.slice(0, NAMES_SHOWN));
}

function areasOf({ only }: Flags): ReadonlySet<Area> {
  if (only === undefined) return new Set(AREAS);
  return new Set(only.flatMap((text) => text.split(',')).map((word) => oneOf('--only', word, AREAS)));
}

function mutedOf({ mute = [] }: Flags): ReadonlySet<Code> {
  const known = Object.keys(CODES) as Code[];
  return new Set(
    mute.flatMap((text) => text.split(',')).map((word) => oneOf('--mute', word.toUpperCase() as Code, known)),
  );
}

function urlOf(text: string): URL {
  const url = /^https?:\/\//i.test(text) ? URL.parse(text) : null;
  if (url === null) throw new UsageError('--url is no URL of a proxy - for example http://127.0.0.1:4000');
  if (url.username !== '' || url.password !== '' || url.search !== '')
    throw new UsageError('--url names a user, a password or a query - the key comes from --key-file');
  return url;
}

function priceText({ model = [], latency }: Flags, inspected: Inspected | null): string {
  if (inspected === null || inspected.snapshot === null) return '';
  const entries = entriesOf(inspected.snapshot, inspected.source);
  const chosen =
    model.length === 0 ? entries : entries.filter(({ deployment }) => model.includes(deployment.group));
  const { calls, usd, unknown } = priceOf(chosen);
  const known = calls === unknown ? 'prices are not known' : `at most $${usd.toFixed(6)}`;
  const more = unknown === 0 || calls === unknown ? '' : ` and ${unknown} calls whose price is not known`;
  const count = `${calls} ${calls === 1 ? 'call' : 'calls'}`;
  const timed =
    latency === true
      ? `; --latency makes ${2 * LATENCY_CALLS} of ${SHORT_TOKENS} tokens for each gateway, too`
      : '';
  return `--send makes up to ${count} of ${ANSWER_TOKENS} tokens at most, tagged doctor: ${known}${more}; one that fails is made twice${timed}\n\n`;
}

interface Progress {
  readonly outcome: DoctorOptions['onOutcome'];
  readonly gateway: DoctorOptions['onGateway'];
  readonly end: () => void;
}

/** One line that is written over, on a terminal that can. */
function progressOn({ logStyle, err }: Terminal, isQuiet: boolean): Progress {
  let done = 0;
  const ignore = (): void => undefined;
  if (isQuiet || logStyle === 'json') return { outcome: ignore, gateway: ignore, end: ignore };
  if (logStyle === 'plain')
    return { outcome: ignore, gateway: (subject) => err(`asking ${subject}\n`), end: ignore };
  const show = (what: string): void => err(`\r\u001b[K${done} checks; ${what.slice(0, 60)}`);
  return {
    outcome: ({ subject, check }) => {
      done += 1;
      show(`${check} of ${subject}`);
    },
    gateway: (subject) => show(`asking ${subject}`),
    end: () => err('\r\u001b[K'),
  };
}

/** What a supporter asks for first. Secrets have the type `Secret`, which JSON shows as `[secret]`; findings are redacted. */
function writeBundle(file: string, report: Report, inspected: Inspected | null, { cwd }: Terminal): void {
  const snapshot = inspected?.snapshot ?? null;
  const entries = snapshot?.deployments.map((one) => ({
    model_name: one.group,
    model: one.model,
    api_base: one.apiBase,
    gateway: one.gateway.name,
    has_key: one.apiKey !== null,
    header_names: one.staticHeaders.map(([name]) => name),
    timeouts_ms: one.clocks,
    order: Number.isFinite(one.order) ? one.order : null,
    weight: one.weight,
  }));
  const settings =
    snapshot === null
      ? null
      : {
          version: snapshot.version,
          dialect: snapshot.dialect.brand,
          routing_strategy: snapshot.routing.strategy,
          workers: snapshot.workers,
          drain_ms: snapshot.drainMs,
          database: snapshot.database?.shown ?? null,
          journal: snapshot.journal,
          entries,
        };
  const machine = { node: process.versions.node, platform: process.platform, arch: process.arch };
  const bundle = { schema: 'throughline-bundle/1', machine, settings, report };
  try {
    writeFileSync(resolve(cwd, file), jsonText(bundle), { mode: 0o600, flag: 'wx' });
  } catch (error) {
    const code = errorCode(error);
    throw new CannotStart(
      `--bundle ${file} cannot be written (${code === 'EEXIST' ? 'it is there already' : (code ?? '')})`,
    );
  }
}
