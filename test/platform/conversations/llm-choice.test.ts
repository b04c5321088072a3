// Which model a conversation gets, and what a start says about one that this proxy does not serve.
import t from 'tap';
import { KEY } from '../../support/rig.ts';
import { at, SECRET_KEY, startPlatform, type PlatformRig } from '../fixture/rig.ts';

const PATH = '/api/v1/app-conversations';

const refusalOf = async (rig: PlatformRig, request: object): Promise<unknown> => {
  const response = await rig.api('POST', PATH, request);
  t.equal(response.status, 400, response.text);
  return at(response, 'detail');
};

async function modelOf(rig: PlatformRig, request: object): Promise<unknown> {
  const task = await rig.api('POST', PATH, request);
  if (task.status !== 200) throw new Error(task.text);
  const { json } = await rig.api('GET', `${PATH}?ids=${String(at(task, 'app_conversation_id'))}`);
  return (json as [{ llm_model: unknown }])[0].llm_model;
}

t.test('a start says in a sentence which model is not served, and who names it', async (t) => {
  const rig = await startPlatform(t);
  const saved = await rig.api('POST', '/api/v1/settings/profiles/Later', { llm: { model: 'demmo' } });
  t.equal(saved.status, 201, 'a profile may name a model that comes later');
  t.equal(
    await refusalOf(rig, { llm_profile: 'Later' }),
    "The model `demmo` does not exist on this proxy. Did you mean `demo`? GET /v1/models lists the names. The profile 'Later' names it.",
  );
  t.match(
    await refusalOf(rig, { llm_model: 'gpt-4o' }),
    /^The model `gpt-4o` does not exist on this proxy\./,
  );
  t.match(
    await refusalOf(rig, { llm_model: 'claude-sonnet-4-5' }),
    /does not exist/,
    'no call to a provider in its place',
  );
  t.match(await refusalOf(rig, { llm_model: 'anthropic/claude-sonnet-4-5' }), /does not exist/);
  t.match(await refusalOf(rig, { llm_model: 'x'.repeat(5_000) }), /^The model `x{100}\.\.\.`/);
  t.equal((await rig.api('GET', `${PATH}/count`)).json, 0, 'nothing was begun');
  t.equal((await rig.api('POST', '/api/v1/settings/profiles/Later/activate')).status, 200);
  t.match(await refusalOf(rig, {}), /The profile 'Later' names it/);
  t.equal(await modelOf(rig, { llm_model: 'demo' }), 'demo', 'the model of the request wins');
});

t.test('what a pattern covers and nobody can call is refused before anything starts', async (t) => {
  const rig = await startPlatform(t, {
    models: (url) =>
      `  - { model_name: "openai/*", litellm_params: { model: "litellm_proxy/*", api_base: "${url}" } }`,
  });
  for (const model of ['openai/', 'openai/gpt\0', 'openai/gpt\r\nx'])
    t.match(await refusalOf(rig, { llm_model: model }), /is no name of a model/);
  t.equal(await modelOf(rig, { llm_model: 'openai/gpt 5' }), 'openai/gpt 5');
});

t.test('a model that comes later works from then on, one that goes does not', async (t) => {
  const rig = await startPlatform(t);
  await rig.api('POST', '/api/v1/settings/profiles/a', { llm: { model: 'late' } });
  const config = (names: readonly string[]): string => `
model_list:${names.map((name) => `\n  - { model_name: ${name}, litellm_params: { model: litellm_proxy/demo, api_base: "${rig.demo.url}" } }`).join('')}
general_settings: { master_key: ${KEY} }
platform: { session_api_key: session-key-of-the-tests, secret_key: "${SECRET_KEY}" }
`;
  await rig.reconfigure(config(['demo', 'late']));
  t.equal(await modelOf(rig, { llm_profile: 'a' }), 'late');
  await rig.reconfigure(config(['demo']));
  t.match(await refusalOf(rig, { llm_profile: 'a' }), /`late` does not exist/);
});

t.test(
  'where nothing names a model: the usual one if it is served, else the first of the list',
  async (t) => {
    const rig = await startPlatform(t);
    t.equal(await modelOf(rig, {}), 'demo');
    await rig.api('POST', '/api/settings', { llm_model: 'compat' });
    t.equal(await modelOf(rig, {}), 'compat', 'the settings of V0 name one');
    const config = (list: string): string => `
model_list:
  - { model_name: "${list}", litellm_params: { model: "litellm_proxy/${list}", api_base: "${rig.demo.url}" } }
general_settings: { master_key: ${KEY} }
platform: { session_api_key: [{ key: other, user_id: other }], secret_key: "${SECRET_KEY}" }
`;
    await rig.reconfigure(config('gpt-*'));
    const begun = await rig.api('POST', PATH, {}, 'other');
    t.equal(begun.status, 200);
    const read = async (id: unknown): Promise<unknown> => {
      const { json } = await rig.api('GET', `${PATH}?ids=${String(id)}`, undefined, 'other');
      return (json as [{ llm_model: unknown }])[0].llm_model;
    };
    t.equal(
      await read(at(begun, 'app_conversation_id')),
      'gpt-5.5',
      "the description's own, under a pattern",
    );
    await rig.reconfigure(config('none-*'));
    const bare = await rig.api('POST', PATH, {}, 'other');
    t.equal(await read(at(bare, 'app_conversation_id')), null, 'its client names the model of each call');
  },
);
