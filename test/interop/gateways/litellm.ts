// LiteLLM from PyPI as the gateway, without a database: its log is read by a callback of its own kind, which is what its
// rows are made from.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../support/free-port.ts';
import { packageVersion, pythonEnvironment, type PythonEnvironment } from '../harness/python.ts';
import { until } from '../harness/suite.ts';
import { startProgram } from './program.ts';
import {
  GATEWAY_KEY,
  PROVIDER_KEY,
  PROVIDER_MODELS,
  type GatewayNote,
  type GatewayRecipe,
} from './recipe.ts';

const REQUIREMENTS = join(import.meta.dirname, '..', 'litellm-proxy.txt');
const PYTHON_MINOR = 10;
const CALLBACK = `import json, os
from litellm.integrations.custom_logger import CustomLogger


class Recorder(CustomLogger):
    async def async_log_success_event(self, kwargs, response_obj, start_time, end_time):
        with open(os.environ['RECORDS'], 'a') as out:
            out.write(json.dumps(kwargs['standard_logging_object'], default=str) + '\\n')


recorder = Recorder()
`;

interface LogLine {
  readonly trace_id?: string;
  readonly end_user?: string;
  readonly request_tags?: readonly string[];
  readonly metadata?: { readonly spend_logs_metadata?: Readonly<Record<string, unknown>> | null };
}

let environment: PythonEnvironment | null = null;
const python = (): PythonEnvironment => (environment ??= pythonEnvironment(REQUIREMENTS, PYTHON_MINOR));

export const litellm: GatewayRecipe = {
  name: 'LiteLLM',
  how: 'from PyPI, without a database; rows are read by a logging callback, in the form its spend logs are made from.',
  prepare: () => Promise.resolve(packageVersion(python(), 'litellm')),
  start: async (run, providerUrl) => {
    const port = await freePort();
    const folder = run.folder();
    const records = join(folder, 'records.jsonl');
    const entry = (model: string): object => ({
      model_name: model,
      litellm_params: { model: `openai/${model}`, api_base: `${providerUrl}/v1`, api_key: PROVIDER_KEY },
    });
    const config = {
      model_list: PROVIDER_MODELS.map(entry),
      litellm_settings: { callbacks: ['recorder.recorder'], num_retries: 0 },
      router_settings: { num_retries: 0, disable_cooldowns: true },
      general_settings: { master_key: GATEWAY_KEY, forward_client_headers_to_llm_api: true },
    };
    writeFileSync(join(folder, 'config.yaml'), JSON.stringify(config));
    writeFileSync(join(folder, 'recorder.py'), CALLBACK);
    const { kill } = await startProgram(run, {
      command: join(python().bin, 'litellm'),
      args: ['--config', join(folder, 'config.yaml'), '--host', '127.0.0.1', '--port', String(port)],
      env: { LITELLM_LOCAL_MODEL_COST_MAP: 'True', RECORDS: records },
      folder,
      port,
      readyPath: '/health/liveliness',
    });
    return {
      port,
      key: GATEWAY_KEY,
      kill,
      note: (session) => until(`a log line of ${session}`, () => noted(records, session)),
    };
  },
  entry: ({ url, model, key }) => ({
    model: `litellm_proxy/${model}`,
    api_base: url,
    api_key: key,
  }),
  headerForProvider: 'x-from-client',
  sessionHeader: 'x-litellm-session-id',
  limits: {
    'wrong-key': {
      cell: 'no',
      why: 'without a database it answers a key that it does not know with 400 `No connected db.`, which the client gets as it is; with one, by its sources, with 401.',
      fails: /^status 400: .*No connected db/s,
    },
  },
};

function noted(records: string, session: string): GatewayNote | null {
  if (!existsSync(records)) return null;
  const lines = readFileSync(records, 'utf8').split('\n').slice(0, -1);
  const found = lines
    .map((line) => JSON.parse(line) as LogLine)
    .find(({ trace_id: trace }) => trace === session);
  if (found === undefined) return null;
  return {
    session,
    user: found.end_user ?? null,
    tags: found.request_tags ?? [],
    metadata: found.metadata?.spend_logs_metadata ?? {},
  };
}
