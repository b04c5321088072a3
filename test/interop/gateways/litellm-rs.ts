// litellm-rs, a gateway of its own in Rust, where its program is found: it is built for minutes, so a run does not.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../support/free-port.ts';
import { Missing } from '../harness/suite.ts';
import { startProgram } from './program.ts';
import { GATEWAY_KEY, PROVIDER_KEY, PROVIDER_MODELS, WRONG_KEY, type GatewayRecipe } from './recipe.ts';

const VARIABLE = 'LITELLM_RS_BIN';
const VERSION = '0.9.0';

const command = (): string => process.env[VARIABLE] ?? 'gateway';

export const litellmRs: GatewayRecipe = {
  name: 'litellm-rs',
  how: 'from the Rust registry, with the features storage and sqlite; anonymous, since keys need its database and sign-in.',
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
        database: { url: 'sqlite://none.db', enabled: false },
        redis: { url: 'redis://127.0.0.1:6379', enabled: false },
      },
      auth: { enable_jwt: false, enable_api_key: false, allow_anonymous: true, jwt_secret: '' },
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
    return { port, kill };
  },
  entry: ({ url, model, isWrongKey = false }) => ({
    model: `openai/${model}`,
    api_base: `${url}/v1`,
    api_key: isWrongKey ? WRONG_KEY : GATEWAY_KEY,
  }),
  headerForProvider: 'x-from-client',
  sessionHeader: 'x-litellm-session-id',
  limits: {},
};
