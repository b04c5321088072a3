// `throughline start` (npm start): the quickstart - sample configuration and demo gateway - or, with --config, a real
// one. A newcomer's first minute happens here.
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startDemoGateway, type DemoGateway } from '../demo/gateway.ts';
import { CannotStart } from '../errors/cannot-start.ts';
import { open, serve, untilStopped } from './serve.ts';
import type { Command, Terminal } from './terminal.ts';

/** Where config/samples/quickstart.yaml expects the gateway. */
const DEMO_PORT = 4010;
const QUICKSTART_KEY = 'sk-quickstart';

const USAGE = `throughline start [--config FILE] [--host H] [--port N] [--data-dir DIR] [--log-level L]

Without a configuration: serves config/samples/quickstart.yaml in front of a built-in demo gateway.
With one (or CONFIG_FILE_PATH): the same as \`throughline serve\`.
`;

const OPTIONS = {
  host: { type: 'string' },
  port: { type: 'string' },
  'data-dir': { type: 'string' },
  'log-level': { type: 'string' },
} as const;

export const start: Command = {
  name: 'start',
  summary: 'quickstart with a demo gateway, or serve --config FILE',
  usage: USAGE,
  run: async (args, terminal) => {
    const named = args.some((arg) => arg === '--config' || arg.startsWith('--config='));
    if (named || (terminal.env['CONFIG_FILE_PATH'] ?? '') !== '') return serve.run(args, terminal);
    const { values } = parseArgs({ args: [...args], options: OPTIONS });
    const demo = await demoOnItsPort();
    // Its key stands in the repository, so only this machine may call unless the operator says otherwise.
    const host = values.host ?? terminal.env['HOST'] ?? '127.0.0.1';
    const quiet = { ...values, host, 'log-level': values['log-level'] ?? 'warn' };
    const config = join(terminal.home, 'config', 'samples', 'quickstart.yaml');
    try {
      const running = await open(config, quiet, withoutKeys(terminal));
      terminal.out(welcome(running.gateway.url, demo.url));
      return await untilStopped(running, terminal);
    } finally {
      await demo.close();
    }
  },
};

async function demoOnItsPort(): Promise<DemoGateway> {
  return startDemoGateway({ host: '127.0.0.1', port: DEMO_PORT, keepSeen: 1 }).catch(
    (error: NodeJS.ErrnoException) => {
      throw new CannotStart(
        `the demo gateway needs port ${DEMO_PORT} (${error.code ?? error.message}) - free it, or serve your own --config`,
      );
    },
  );
}

/** The sample names its key itself; a key left in the shell would only make the printed one wrong. */
function withoutKeys(terminal: Terminal): Terminal {
  return {
    ...terminal,
    env: { ...terminal.env, PROXY_MASTER_KEY: undefined, LITELLM_MASTER_KEY: undefined },
  };
}

function welcome(url: string, demoUrl: string): string {
  return `
  Throughline is running, with a demo gateway behind it (${demoUrl}).

  base URL     ${url}/v1
  master key   ${QUICKSTART_KEY}

  Try it:

    curl -N ${url}/v1/chat/completions \\
      -H 'Authorization: Bearer ${QUICKSTART_KEY}' -H 'Content-Type: application/json' \\
      -H 'X-LiteLLM-Session-Id: my-first-session' \\
      -d '{"model":"demo","stream":true,"messages":[{"role":"user","content":"Hello"}]}'

  See what it left behind:

    curl -s '${url}/spend/logs/session/ui?session_id=my-first-session' -H 'Authorization: Bearer ${QUICKSTART_KEY}'

  Next: copy config/samples/quickstart.yaml, point api_base at your gateway, then
    npm start -- --config my.yaml            (check it first: npx throughline check --config my.yaml)

  Ctrl-C stops it.
`;
}
