// litellm-rs, a gateway of its own in Rust, where its program is found: it is built for minutes, so a run does not.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { freePort } from '../../support/free-port.ts';
import { Missing, until } from '../harness/suite.ts';
import { dig, listOf, text } from './expected.ts';
import { startProgram } from './program.ts';
import { PROVIDER_KEY, PROVIDER_MODELS, type GatewayNote, type GatewayRecipe } from './recipe.ts';

const VARIABLE = 'LITELLM_RS_BIN';
const VERSION = '0.9.0';

const SECRET = '0123456789abcdef0123456789ABCDEF-!interop';
const ADMIN = { username: 'admin', password: 'Str0ng!Passw0rd' };

type Asked = (path: string, body?: object) => Promise<unknown>;

const command = (): string => process.env[VARIABLE] || 'gateway';

export const litellmRs: GatewayRecipe = {
  name: 'litellm-rs',
  how: 'from the Rust registry, with the features storage and sqlite, its database and a key of its own; its user is made active in the database, for it sends no e-mail here. It takes `Authorization: Bearer` for a token of its sign-in, so the key goes by `extra_headers: { x-api-key: ... }`, without `api_key`.',
  prepare: () => {
    const { status, stdout } = spawnSync(command(), ['--version'], { encoding: 'utf8', timeout: 10_000 });
    if (status === 0 && stdout.trim() === `gateway ${VERSION}`) return Promise.resolve(VERSION);
    throw new Missing(
      `litellm-rs ${VERSION} is not at ${VARIABLE}: cargo install litellm-rs --version ${VERSION} --locked --features storage,sqlite`,
    );
  },
  start: async (run, providerUrl) => {
    const port = await freePort();
    const folder = run.folder();
    const database = join(folder, 'gateway.db');
    const known = { capability_catalog_model: 'gpt-4o', pricing_model: 'gpt-4o' };
    const config = {
      schema_version: '1.0',
      server: { host: '127.0.0.1', port, workers: 1 },
      providers: [
        {
          name: 'provider',
          provider_type: 'openai',
          api_key: PROVIDER_KEY,
          base_url: `${providerUrl}/v1`,
          endpoint_access: 'private_network',
          rpm: 1_000_000,
          tpm: 1_000_000_000,
          max_retries: 0,
          settings: {
            model_identity_mappings: Object.fromEntries(PROVIDER_MODELS.map((name) => [name, known])),
          },
          models: PROVIDER_MODELS,
          enabled: true,
        },
      ],
      router: { strategy: 'round_robin', load_balancer: { health_check_enabled: false } },
      storage: {
        database: { url: `sqlite://${database}?mode=rwc`, enabled: true, auto_migrate: true },
        request_ledger: { enabled: true },
        redis: { url: 'redis://127.0.0.1:6379', enabled: false },
      },
      auth: { enable_jwt: true, enable_api_key: true, allow_anonymous: false, jwt_secret: SECRET },
      guardrails: { enabled: false },
      monitoring: { metrics: { enabled: false } },
      rate_limit: { enabled: false },
    };
    writeFileSync(join(folder, 'gateway.yaml'), JSON.stringify(config));
    const { kill } = await startProgram(run, {
      command: command(),
      args: ['-c', join(folder, 'gateway.yaml'), '--log-level', 'error', 'serve'],
      folder,
      port,
      readyPath: '/health',
    });
    const asked = await signedIn(port, database);
    const made = await asked('/v1/keys', { name: 'throughline' });
    const note = (): Promise<GatewayNote> => until('a row of its ledger', () => newestRow(asked));
    return { port, key: text(made, 'data', 'key'), kill, note };
  },
  entry: ({ url, model, key }) => ({
    model: `openai/${model}`,
    api_base: `${url}/v1`,
    extra_headers: { 'x-api-key': key }, // it takes a bearer for a token of its sign-in
  }),
  headerForProvider: 'x-from-client',
  sessionHeader: 'x-litellm-session-id',
  limits: {
    'provider-429': {
      cell: 'no',
      why: 'its 429 has no `retry-after`; status and text arrive.',
      fails: /retry-after among/,
    },
    'messages-native': {
      cell: 'no',
      why: 'its `/v1/messages` does not reach a provider of chat completions: "does not support capability". The proxy learns that, and translates.',
      fails: /does not support capability ChatCompletion/,
    },
    'headers-provider': {
      cell: 'not offered',
      why: 'it passes no header of a call on to the provider.',
      fails: /the header did not reach the provider/,
    },
    'identity-log': {
      cell: 'not offered',
      why: 'its ledger has key, model and tokens, and takes no session, user, tags or metadata from a call.',
      fails: /the user in its row is null/,
    },
    'client-leaves': {
      cell: 'no',
      why: 'its call of a provider that is silent goes on; ours to it is aborted.',
      fails: /the provider goes on/,
    },
    'provider-cut': {
      cell: 'no',
      why: 'it ends the stream that its provider broke off with a frame of `error` and `[DONE]`; a client that reads `error` sees it.',
      fails: /the stream has a \[DONE\]/,
    },
  },
};

/** Calls of its administrator. */
async function signedIn(port: number, database: string): Promise<Asked> {
  let token = '';
  const asked: Asked = async (path, body) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return answer.json();
  };
  await asked('/auth/register', { ...ADMIN, email: 'admin@example.com' });
  const store = new DatabaseSync(database);
  store.exec("UPDATE users SET status = 'active', role = 'admin', email_verified = 1");
  store.close();
  token = text(await asked('/auth/login', ADMIN), 'data', 'access_token');
  return asked;
}

/** Its ledger names key, model and tokens, and nothing that a call says of itself. */
async function newestRow(asked: Asked): Promise<GatewayNote | null> {
  const [row] = listOf(dig(await asked('/admin/request-ledger'), 'items'));
  if (row === undefined) return null;
  const user = text(row, 'end_user') || text(row, 'user_id');
  return { session: text(row, 'session_id') || null, user: user || null, tags: [], metadata: {} };
}
