// Other gateways, as `node bench/peers/install.js` leaves them or as they are found on the path. One that cannot be had
// says why; none is started by a recipe that was never seen to work.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MODEL, onPath, ROOT, type Peer } from './peers.ts';
import { freePort, Program } from './processes.ts';

const PEERS = join(ROOT, 'bench/peers');
const PORTKEY = join(PEERS, 'node_modules/@portkey-ai/gateway/build/start-server.js');
const LITELLM = join(PEERS, 'litellm/bin/litellm');

const portkey: Peer = {
  name: 'Portkey 1.15.2',
  lacks: 'keys, records and metrics',
  missing: () => (existsSync(PORTKEY) ? null : 'not installed (node bench/peers/install.js portkey)'),
  start: async ({ upstreamPort }) => {
    const port = await freePort();
    const program = new Program(process.execPath, [PORTKEY, '--headless', `--port=${port}`]);
    await program.listens(port);
    const headers = `x-portkey-provider: openai\r\nx-portkey-custom-host: http://127.0.0.1:${upstreamPort}/v1\r\n`;
    return { name: 'Portkey 1.15.2', program, port, headers };
  },
};

const litellmCommand = (): string | null => (existsSync(LITELLM) ? LITELLM : onPath('litellm'));

const litellm: Peer = {
  name: 'LiteLLM',
  lacks: 'spend records (no database); one worker',
  missing: () =>
    litellmCommand() === null ? 'not installed (node bench/peers/install.js litellm: 750 MB)' : null,
  start: async ({ folder, upstreamPort }) => {
    const port = await freePort();
    const config = join(folder, 'config.yaml');
    writeFileSync(
      config,
      `model_list:\n  - model_name: ${MODEL}\n    litellm_params:\n      model: openai/upstream-model\n` +
        `      api_base: http://127.0.0.1:${upstreamPort}/v1\n      api_key: sk-upstream\n` +
        'general_settings:\n  master_key: sk-bench\n',
    );
    const flags = ['--config', config, '--host', '127.0.0.1', '--port', String(port), '--num_workers', '1'];
    // Prices from its package instead of the network; and a hundred equal events are no loop here.
    const settings = ['LITELLM_LOCAL_MODEL_COST_MAP=True', 'REPEATED_STREAMING_CHUNK_LIMIT=1000000'];
    const program = new Program('env', [...settings, litellmCommand() ?? 'litellm', ...flags]);
    await program.listens(port);
    return { name: 'LiteLLM', program, port, headers: '', share: 0.02 };
  },
};

/** One without a recipe, so that its absence is said under each table. */
const absentee = (name: string, reason: string): Peer => ({
  name,
  lacks: null,
  missing: () => reason,
  start: () => Promise.reject(new Error(reason)),
});

/** In the order of the tables. */
export const GATEWAYS: readonly Peer[] = [
  portkey,
  litellm,
  absentee('Bifrost', 'its module github.com/maximhq/bifrost/transports could not be fetched to be tried'),
  absentee('Busbar', 'the crate of that name holds no program (0.0.1, a reserved name)'),
];

/** Names for `Bench.peers`: the relays and every gateway. */
export const EVERYONE: readonly string[] = ['bare', 'nginx', 'haproxy', ...GATEWAYS.map(({ name }) => name)];
