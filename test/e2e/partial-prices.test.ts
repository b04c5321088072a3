// An entry that states some of its prices: what is shown, reserved, calculated and recorded is one table.
import t from 'tap';
import { managed, newKey, type Json } from '../support/manage.ts';
import { chat, KEY, rowOf, send, startRig } from '../support/rig.ts';

const USAGE = { prompt_tokens: 1000, completion_tokens: 200, total_tokens: 1200 };

/** Entries of gpt-4o, 2.5 and 10 dollars per million in the catalogue, and 1.25 for cached input. */
const ENTRIES: readonly (readonly [
  name: string,
  prices: string,
  cost: number,
  cached: number,
  shown: Json,
])[] = [
  ['fee', 'input_cost_per_request: 0.001', 0.0055, 0.00475, { input_cost_per_request: 0.001 }],
  ['no-fee', 'input_cost_per_request: 0', 0.0045, 0.00375, { input_cost_per_request: 0 }],
  ['input', 'input_cost_per_token: 1e-6', 0.003, 0.003, { input_cost_per_token: 1e-6 }],
  ['output', 'output_cost_per_token: 5e-6', 0.0035, 0.00275, { output_cost_per_token: 5e-6 }],
  ['cached', 'cache_read_input_token_cost: 0.5e-6', 0.0045, 0.0033, { cache_read_input_token_cost: 5e-7 }],
  ['both', 'input_cost_per_token: 1e-6, output_cost_per_token: 2e-6', 0.0014, 0.0014, {}],
];

const config = ({ url }: { readonly url: string }): string => `
model_list:
${ENTRIES.flatMap(([name]) => [
  [name, 'openai/acme/demo'],
  [`${name}/*`, 'openai/*'],
])
  .map(
    ([name, model], at) =>
      `  - { model_name: "${name}", litellm_params: { model: "${model}", api_base: "${url}/compat/v1", api_key: sk-x, ${ENTRIES[at >> 1]?.[1]} }, model_info: { base_model: gpt-4o } }`,
  )
  .join('\n')}
general_settings: { master_key: ${KEY} }
`;

t.test('the prices that an entry states stand over those of the catalogue', async (t) => {
  const rig = await startRig(t, { config });
  const calculate = async (model: string, usage: unknown): Promise<Json> => {
    const { text } = await send(rig.url, 'POST', '/spend/calculate', {
      completion_response: { model, usage },
    });
    return JSON.parse(text) as Json;
  };
  for (const [name, , cost, cached, shown] of ENTRIES) {
    const half = { ...USAGE, prompt_tokens_details: { cached_tokens: 600 } };
    for (const model of [name, `${name}/gpt-4o`]) {
      t.match(await calculate(model, USAGE), { cost, cost_source: 'entry' }, model);
      t.match(await calculate(model, half), { cost: cached, cost_source: 'entry' }, `${model}, cached`);
    }
    const { data } = (await managed(rig, 'GET /model/info')) as {
      readonly data: readonly {
        readonly model_name: string;
        readonly model_info: Readonly<Record<string, number>>;
      }[];
    };
    const info = data.find((one) => one.model_name === name)?.model_info ?? {};
    t.match(info, shown, name);
    const input = info['input_cost_per_token'] ?? NaN;
    const output = info['output_cost_per_token'] ?? NaN;
    const fee = info['input_cost_per_request'] ?? 0;
    t.equal(
      (input * 1000 + output * 200 + fee).toFixed(12),
      cost.toFixed(12),
      `${name} is shown as it is charged`,
    );
    const read = info['cache_read_input_token_cost'] ?? input;
    t.equal(
      (input * 400 + read * 600 + output * 200 + fee).toFixed(12),
      cached.toFixed(12),
      `${name}, cached`,
    );
    const group = await managed(rig, `GET /model_group/info?model_group=${name}`);
    t.match(group, { data: [{ input_cost_per_token: input, output_cost_per_token: output }] });
    const row = await rowOf(rig, await chat(rig, name));
    const spend = input * Number(row['prompt_tokens']) + output * Number(row['completion_tokens']) + fee;
    t.match(row, { cost_source: 'entry', spend: Number(spend.toFixed(12)) }, name);
  }
});

t.test('a call reserves a fee and the tokens of the catalogue', async (t) => {
  const rig = await startRig(t, { config });
  const key = await newKey(rig, { max_budget: 0.0025 }); // 200 tokens at 10 dollars per million, and 0.001
  const answer = await chat(rig, 'fee', { max_tokens: 200 }, { authorization: `Bearer ${key}` });
  t.equal(answer.status, 422);
  t.match(JSON.parse(answer.text), { error: { code: 'budget_exceeded' } });
});
