// A whole chain for the checks: a scripted provider, a gateway of others before it, a tap, and this proxy with the entries that
// the checks call.
import { startDemoGateway, type DemoGateway } from '../../../proxy/demo-gateway/demo-gateway.ts';
import type { Script } from '../../../proxy/demo-gateway/compose.ts';
import { KEY, send, startRig, type Answer, type Rig, type Row } from '../../support/rig.ts';
import { until, type InteropRun } from '../harness/suite.ts';
import {
  PROVIDER_KEY,
  PROVIDER_MODELS,
  WRONG_KEY,
  type GatewayRecipe,
  type RunningGateway,
} from './recipe.ts';
import { startTap, type Tap } from './tap.ts';

export interface Chain {
  readonly recipe: GatewayRecipe;
  readonly provider: DemoGateway;
  readonly gateway: RunningGateway;
  readonly tap: Tap;
  readonly rig: Rig;
  /** What the provider answers until it is set again; null = its behaviours. */
  script: Script | null;
}

/** One row of the table. It rejects when it does not hold; its id is the evidence that docs/compatibility.md names. */
export interface Check {
  readonly id: string;
  readonly title: string;
  /** What it holds, as a sentence of the page. */
  readonly holds: string;
  readonly play: (chain: Chain) => Promise<void>;
}

const CHAT = ['/v1/chat/completions'];

export async function startChain(run: InteropRun, recipe: GatewayRecipe): Promise<Chain> {
  const scripted: { now: Script | null } = { now: null };
  const provider = await startDemoGateway({ script: (body, model) => scripted.now?.(body, model) ?? null });
  run.teardown(() => provider.close());
  const gateway = await recipe.start(run, provider.url);
  const tap = await startTap(run, () => gateway.port);
  const strict = await startDemoGateway({ acceptKeys: [PROVIDER_KEY] });
  run.teardown(() => strict.close());
  const config = JSON.stringify(configOf(recipe, tap.url, gateway.key, provider.url, strict.url));
  const rig = await startRig(run, { config: () => config });
  return {
    recipe,
    provider,
    gateway,
    tap,
    rig,
    get script() {
      return scripted.now;
    },
    set script(script) {
      scripted.now = script;
    },
  };
}

function configOf(
  recipe: GatewayRecipe,
  url: string,
  key: string,
  providerUrl: string,
  strictUrl: string,
): object {
  const base = { url, key, providerUrl };
  const entry = (name: string, params: object, more: object = {}): object => ({
    model_name: name,
    litellm_params: { ...params, num_retries: 0, ...more },
  });
  const one = recipe.entry({ ...base, model: 'demo-one' });
  return {
    model_list: [
      ...PROVIDER_MODELS.map((model) => entry(model, recipe.entry({ ...base, model }))),
      entry('quiet', one, { forward_client_headers_to_llm_api: false }),
      entry(
        'wrong-key',
        recipe.entry({ ...base, providerUrl: strictUrl, model: 'demo-one', key: WRONG_KEY }),
      ),
      entry('unknown', recipe.entry({ ...base, model: 'nobody-has-this' })),
      entry('chat-only', one, { supported_endpoints: CHAT }),
      entry('native-messages', recipe.entry({ ...base, model: 'demo-one', api: 'messages' }), {
        supported_endpoints: ['/v1/messages'],
      }),
      entry('native-responses', recipe.entry({ ...base, model: 'demo-one', api: 'responses' }), {
        supported_endpoints: ['/v1/responses'],
      }),
    ],
    litellm_settings: { drop_params: true },
    general_settings: { master_key: KEY, forward_client_headers_to_llm_api: true },
  };
}

/** A call of the proxy. */
export function call(
  { rig }: Chain,
  path: string,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  return send(rig.url, 'POST', path, body, headers);
}

/** The row of a call, once it is written. */
export function rowOf({ rig }: Chain, { headers }: Pick<Answer, 'headers'>): Promise<Row> {
  const id = String(headers['x-litellm-call-id']);
  return until(`the row ${id}`, async () => (await rig.rows()).find((row) => row['request_id'] === id));
}

/** The frames of a stream that hold JSON. */
export function events({ text }: Pick<Answer, 'text'>): readonly Readonly<Record<string, unknown>>[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice('data: '.length)) as Readonly<Record<string, unknown>>);
}

/** The newest request of a model that the provider has seen, as JSON. */
export function lastBody({ provider }: Chain): Readonly<Record<string, unknown>> {
  const last = provider.seen.findLast(({ method }) => method === 'POST');
  if (last === undefined) throw new Error('the provider has seen no call');
  return JSON.parse(last.body.toString()) as Readonly<Record<string, unknown>>;
}
