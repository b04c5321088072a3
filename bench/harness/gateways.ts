// Other gateways, as `node bench/peers/install.js` leaves them or as they are found on the path. One that cannot be had
// says why; none is started by a recipe that was never seen to work.
import { spawnSync } from 'node:child_process';
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

const LITELLM_RS = 'litellm-rs 0.9.0';
const litellmRsCommand = (): string | null => process.env['LITELLM_RS_BIN'] ?? onPath('gateway');

/** Its answers are made anew: the model's name, members of null, no spaces. */
const litellmRs: Peer = {
  name: LITELLM_RS,
  lacks: 'keys, header policy, records, metrics and logs (all off)',
  missing: () => {
    const command = litellmRsCommand();
    if (command !== null && versionOf(command) === LITELLM_RS.replace('litellm-rs', 'gateway')) return null;
    return 'not found as LITELLM_RS_BIN (cargo install litellm-rs --version 0.9.0 --locked --features storage,sqlite)';
  },
  start: async ({ folder, upstreamPort }) => {
    const port = await freePort();
    const config = join(folder, 'gateway.yaml');
    writeFileSync(
      config,
      `schema_version: "1.0"
server: { host: 127.0.0.1, port: ${port}, workers: 1, max_connections: 20000, max_body_size: 67108864 }
providers:
  - name: upstream
    provider_type: openai
    api_key: sk-upstream
    base_url: http://127.0.0.1:${upstreamPort}/v1
    endpoint_access: private_network
    rpm: 100000000
    tpm: 1000000000
    max_concurrent_requests: 20000
    timeout: 300
    max_retries: 0
    settings:
      model_identity_mappings: { ${MODEL}: { capability_catalog_model: gpt-4o, pricing_model: gpt-4o } }
    models: [${MODEL}]
    enabled: true
router: { strategy: round_robin, load_balancer: { health_check_enabled: false } }
storage:
  database: { url: "sqlite://none.db", enabled: false }
  redis: { url: "redis://127.0.0.1:6379", enabled: false }
auth: { enable_jwt: false, enable_api_key: false, allow_anonymous: true, jwt_secret: "" }
guardrails: { enabled: false }
monitoring: { metrics: { enabled: false } }
rate_limit: { enabled: false }
`,
    );
    const program = new Program(litellmRsCommand() ?? 'gateway', [
      '-c',
      config,
      '--log-level',
      'error',
      'serve',
    ]);
    await program.listens(port);
    return { name: LITELLM_RS, program, port, headers: '' };
  },
};

/** What a command says of its version; null when it says nothing. */
function versionOf(command: string): string | null {
  const { status, stdout } = spawnSync(command, ['--version'], { encoding: 'utf8', timeout: 5_000 });
  return status === 0 ? stdout.trim() : null;
}

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
  litellmRs,
  absentee('Bifrost', 'its module github.com/maximhq/bifrost/transports could not be fetched to be tried'),
  absentee('Busbar', 'the crate of that name holds no program (0.0.1, a reserved name)'),
];

/** Names for `Bench.peers`: the relays and every gateway. */
export const EVERYONE: readonly string[] = ['bare', 'nginx', 'haproxy', ...GATEWAYS.map(({ name }) => name)];
