// `throughline start` (npm start): the quickstart - sample configuration and demo gateway - or, with --config, a real
// one. A newcomer's first minute happens here.
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join, relative } from 'node:path';
import { asError } from '../base/as-error.ts';
import { startDemoGateway, type DemoGateway } from '../demo-gateway/demo-gateway.ts';
import { CannotStart } from '../errors/cannot-start.ts';
import { makeDirectory, unusableDirectory } from '../spend/store/data-directory.ts';
import { exitCodeOf, open, serveUntilStopped, withServeFlags, type ServeFlags } from './serve.ts';
import { dataDirOf, portOf, statedDataDir, type Define, type Terminal } from './terminal.ts';

const DESCRIPTION = `Without a configuration: serves config/samples/quickstart.yaml in front of a built-in demo gateway.
With one (--config or CONFIG_FILE_PATH): the same as \`throughline serve\`.`;

const DEFAULT_PORT = 4000;
const DEMO_HOST = '127.0.0.1';
/** Where config/samples/quickstart.yaml expects the demo gateway. */
const SAMPLE_DEMO_PORT = 4010;
/** From the proxy's port to the demo gateway's, so that another --port moves both. */
const DEMO_OFFSET = SAMPLE_DEMO_PORT - DEFAULT_PORT;
const QUICKSTART_KEY = 'sk-quickstart';
const AGENT_KEY = 'sk-quickstart-agent';
/** How many ports after a taken one are tried, to name a free one. */
const PORTS_TRIED = 20;

export const start: Define = (command, terminal) => {
  withServeFlags(command, terminal)
    .description(DESCRIPTION)
    .action(async (flags) => {
      const isNamed = (flags.config ?? terminal.env['CONFIG_FILE_PATH'] ?? '') !== '';
      terminal.exitWith(await (isNamed ? serveUntilStopped : quickstart)(flags, terminal));
    });
};

async function quickstart(flags: ServeFlags, terminal: Terminal): Promise<number> {
  // Its key stands in the repository, so only this machine may call unless the operator says otherwise.
  const host = flags.host ?? terminal.env['HOST'] ?? '127.0.0.1';
  const port = portOf(flags.port, terminal, DEFAULT_PORT);
  if (!(await isFree(host, port))) throw new CannotStart(await takenText(host, port, terminal));
  const demo = await demoBeside(port);
  try {
    const dataDir = quickstartDir(flags, port, terminal);
    // On a terminal each request is shown, or a newcomer sees nothing happen.
    const logLevel = flags.logLevel ?? (terminal.logStyle === 'json' ? 'warn' : 'info');
    const quiet = { ...flags, host, port: String(port), dataDir, logLevel };
    const running = await open(configFor(demo, dataDir, terminal), quiet, withOwnEnv(terminal));
    const stopped = exitCodeOf(running, terminal); // first: who reads what follows may send a signal at once
    terminal.out(welcome(running.proxy.url, demo.url, terminal));
    return await stopped;
  } finally {
    await demo.close();
  }
}

/** Two quickstarts run beside each other, each with data of its own. */
function quickstartDir(flags: ServeFlags, port: number, terminal: Terminal): string {
  const isStated = statedDataDir(flags.dataDir, terminal) !== null;
  const dataDir = dataDirOf(flags.dataDir, terminal);
  return isStated || port === DEFAULT_PORT ? dataDir : join(dataDir, `port-${port}`);
}

const sampleOf = ({ home }: Terminal): string => join(home, 'config', 'samples', 'quickstart.yaml');

/** The sample as it is, or a copy that names the port of this demo gateway. */
function configFor({ port }: DemoGateway, dataDir: string, terminal: Terminal): string {
  const sample = sampleOf(terminal);
  if (port === SAMPLE_DEMO_PORT) return sample;
  const copy = join(dataDir, 'quickstart.yaml');
  try {
    makeDirectory(dataDir);
  } catch (cause) {
    throw new CannotStart(unusableDirectory(dataDir, asError(cause)).message, { cause });
  }
  const text = readFileSync(sample, 'utf8');
  writeFileSync(copy, text.replaceAll(`127.0.0.1:${SAMPLE_DEMO_PORT}`, `127.0.0.1:${port}`), { mode: 0o600 });
  return copy;
}

async function demoBeside(port: number): Promise<DemoGateway> {
  const options = { host: DEMO_HOST, keepSeen: 1 };
  const wanted = port === 0 || port + DEMO_OFFSET > 65_535 ? 0 : port + DEMO_OFFSET;
  // Only this proxy calls it, so any other port will do.
  return startDemoGateway({ ...options, port: wanted })
    .catch(() => startDemoGateway({ ...options, port: 0 }))
    .catch((error: Error) => {
      throw new CannotStart(error.message);
    });
}

/** Whether the port can be bound; other errors than a taken port are reported when the server binds it. */
async function isFree(host: string, port: number): Promise<boolean> {
  const probe = createServer();
  return new Promise((resolve) => {
    probe.once('error', (error: NodeJS.ErrnoException) => resolve(error.code !== 'EADDRINUSE'));
    probe.listen(port, host, () => probe.close(() => resolve(true)));
  });
}

async function takenText(host: string, port: number, terminal: Terminal): Promise<string> {
  const [command] = commandsOf(terminal);
  for (let other = port + 1; other <= Math.min(port + PORTS_TRIED, 65_535); other += 1) {
    if (await isFree(host, other)) return `port ${port} is in use - try ${command} --port ${other}`;
  }
  return `port ${port} is in use - try ${command} --port N with another number`;
}

/** How this program was started, and how its other commands are: `npx` is needed where it is on no PATH. */
function commandsOf({ env }: Terminal): readonly [start: string, other: string] {
  const by = env['npm_lifecycle_event'];
  if (by === 'start') return ['npm start --', 'npx throughline'];
  return by === 'npx' ? ['npx throughline start', 'npx throughline'] : ['throughline start', 'throughline'];
}

/**
 * The sample names its key itself; a key left in the shell would only make the printed one wrong. No outgoing proxy of the shell
 * leads to the demo gateway on this machine.
 */
function withOwnEnv(terminal: Terminal): Terminal {
  const { env } = terminal;
  const direct = env['no_proxy'] || env['NO_PROXY'] || '';
  const own = {
    PROXY_MASTER_KEY: undefined,
    LITELLM_MASTER_KEY: undefined,
    no_proxy: direct === '' ? DEMO_HOST : `${direct},${DEMO_HOST}`,
  };
  return { ...terminal, env: { ...env, ...own } };
}

function welcome(url: string, demoUrl: string, terminal: Terminal): string {
  const [startCommand, otherCommand] = commandsOf(terminal);
  const sample = sampleOf(terminal);
  const below = relative(terminal.cwd, sample);
  return `
  Throughline is running, with a demo gateway behind it (${demoUrl}).

  base URL     ${url}/v1
  agent key    ${AGENT_KEY}    (LLM calls and listings)
  master key   ${QUICKSTART_KEY}          (everything: spend, models, metrics)
  console      ${url}/ui    (in a browser; sign in with the master key)

  Try it, in another terminal:

    curl -N ${url}/v1/chat/completions \\
      -H 'Authorization: Bearer ${AGENT_KEY}' -H 'Content-Type: application/json' \\
      -H 'X-LiteLLM-Session-Id: my-first-session' \\
      -d '{"model":"demo","stream":true,"messages":[{"role":"user","content":"Hello"}]}'

  See what it cost, by session:

    ${otherCommand} spend report --by session --url ${url} --key ${QUICKSTART_KEY}

  Next: copy ${below.startsWith('..') ? sample : below}, point api_base at your gateway, then
    ${otherCommand} check --config my.yaml
    ${startCommand} --config my.yaml

  Ctrl-C stops it.

`;
}
