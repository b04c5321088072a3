// What both explanations say of a call is what becomes of it: each call is explained by the API and by the command, and then made.
import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { runWithin } from '../../support/cli.ts';
import { newKey, type Json } from '../../support/manage.ts';
import { KEY, send, startRig } from '../../support/rig.ts';

const CI = 'sk-dry-run-0001';

const rig = await startRig(t, {
  config: ({ url }) => {
    const entry = (name: string, more: string, model = 'demo'): string =>
      `  - { model_name: "${name}", litellm_params: { model: "litellm_proxy/${model}", api_base: "${url}", ${more} } }\n`;
    const strict = 'drop_params: false, supported_endpoints: [chat]';
    return `model_list:
${entry('able', `order: 1, ${strict}`)}${entry('able', 'order: 2, supported_endpoints: [responses]')}${entry('strict', strict)}${entry('wild/*', `order: 1, ${strict}`, '*')}${entry('wild/*', 'order: 2, supported_endpoints: [responses]', '*')}${entry('first', strict)}${entry('native', 'supported_endpoints: [responses]')}${entry('chained', strict)}${entry('lenient', 'allowed_client_parameters: [fallbacks]')}
  - { model_name: alone, litellm_params: { model: litellm_proxy/demo, api_base: "${url}" }, model_info: { id: id-of-alone } }
general_settings: { master_key: ${KEY} }
router_settings: { model_group_alias: { old: able }, fallbacks: [{ first: [native] }, { chained: [lenient, native] }] }
keys:
  - { key_alias: ci, hash: ${hash('sha256', CI, 'hex')}, models: [able, chained, native], aliases: { short: able } }
`;
  },
});

/** A tool that has no place in chat completions. */
const UNTOLD = { input: 'Hi', tools: [{ type: 'file_search', vector_store_ids: ['v'] }] };
const TOLD = { input: 'Hi' };
const CHAT = { messages: [{ role: 'user', content: 'Hi' }] };

interface Call {
  readonly title: string;
  readonly body: Json;
  readonly endpoint?: string;
  /** Of the call, and its name for the command; default: the master key, and nobody in particular. */
  readonly as?: { readonly key: string; readonly name: string };
}

const ci = { key: CI, name: 'ci' };
const CALLS: readonly Call[] = [
  { title: 'the first deployment takes a translation', body: { model: 'able', ...TOLD } },
  { title: 'the first deployment cannot be told all', body: { model: 'able', ...UNTOLD } },
  { title: 'no deployment can be told all', body: { model: 'strict', ...UNTOLD } },
  { title: 'one deployment, and a fallback that could be told', body: { model: 'first', ...UNTOLD } },
  { title: 'an alias of the configuration, told', body: { model: 'old', ...TOLD } },
  { title: 'an alias of the configuration, not told', body: { model: 'old', ...UNTOLD } },
  { title: 'a wildcard, told', body: { model: 'wild/demo', ...TOLD } },
  { title: 'a wildcard, not told', body: { model: 'wild/demo', ...UNTOLD } },
  { title: 'the id of a deployment', body: { model: 'id-of-alone', ...CHAT }, endpoint: 'chat/completions' },
  { title: 'an unknown model', body: { model: 'none-such', ...TOLD } },
  { title: 'no input', body: { model: 'able' } },
  {
    title: 'fallbacks of the client',
    body: { model: 'lenient', fallbacks: ['alone'], ...CHAT },
    endpoint: 'chat/completions',
  },
  {
    title: 'tokens that no gateway counts',
    body: { model: 'strict', ...CHAT },
    endpoint: 'messages/count_tokens',
  },
  { title: 'a fault that the master key may not ask for', body: { model: 'chaos/500/able', ...TOLD } },
  { title: 'an alias of the key, told', body: { model: 'short', ...TOLD }, as: ci },
  { title: 'an alias of the key, not told', body: { model: 'short', ...UNTOLD }, as: ci },
  { title: 'a model that the key may not call', body: { model: 'strict', ...TOLD }, as: ci },
];

interface Told {
  readonly url: string | null;
  readonly error: { readonly status: number; readonly code: string } | null;
  readonly upstream_model: string;
  readonly deployment: { readonly id: string };
  readonly fallbacks: readonly string[];
}

const asJson = (text: string): unknown => JSON.parse(text);

async function byApi(endpoint: string, body: Json): Promise<Told> {
  const { status, text } = await send(rig.url, 'POST', '/explain', { endpoint, body });
  t.equal(status, 200, text);
  return asJson(text) as Told;
}

async function byCommand(endpoint: string, body: Json, name?: string): Promise<string> {
  const file = join(rig.folder, 'body.json');
  writeFileSync(file, JSON.stringify(body));
  const of = name === undefined ? [] : ['--key', name, '--data-dir', 'data'];
  const args = ['--model', String(body['model']), '--endpoint', endpoint, '--body', file, ...of];
  const { out } = await runWithin(['explain', '--config', rig.configPath, ...args], { cwd: rig.folder });
  return out;
}

const firstOf = (pattern: RegExp, text: string): string | null => pattern.exec(text)?.[1] ?? null;
const NOT_SENT = /^(nothing is sent)/m;

for (const { title, body, endpoint = 'responses', as } of CALLS) {
  t.test(title, async (t) => {
    const command = await byCommand(endpoint, body, as?.name);
    const told = as === undefined ? await byApi(endpoint, body) : null;
    const before = rig.demo.seen.length;
    const bearer = { authorization: `Bearer ${as?.key ?? KEY}` };
    const answer = await send(rig.url, 'POST', `/v1/${endpoint}`, body, bearer);
    const seen = rig.demo.seen[before];
    const where = firstOf(/^(POST \S+)$/m, command);
    const refusal = firstOf(/^refused: (\d+ \w+)/m, command);
    if (answer.status !== 200) {
      const { error } = asJson(answer.text) as { error: { code: string } };
      const code = `${answer.status} ${error.code}`;
      // The command without a key explains any fault.
      if (error.code !== 'chaos_denied') t.same([refusal, where], [code, null], 'the command refuses');
      if (told !== null) t.equal(`${told.error?.status} ${told.error?.code}`, code, 'the API refuses');
      t.equal(seen, undefined);
      return;
    }
    t.equal(refusal, null, command);
    const sent = seen === undefined ? null : `${seen.method} ${rig.demo.url}${seen.path}`;
    const id = answer.headers['x-litellm-model-id'];
    t.equal(where, sent, 'the command says where to');
    t.equal(NOT_SENT.test(command), sent === null);
    t.equal(firstOf(/^ {2}entry .* id (\S+)$/m, command), id);
    if (told === null) return;
    t.same([told.url, told.error, told.deployment.id], [sent, null, id], 'the API says the same');
    if (seen === undefined) return;
    const went = asJson(seen.body.toString()) as { model: string };
    t.equal(told.upstream_model, went.model);
  });
}

t.test('the fallbacks are those that the call may go to', async (t) => {
  const then = async (body: Json, name?: string): Promise<string | null> =>
    firstOf(/^ {2}then +(.*)$/m, await byCommand('chat/completions', { ...CHAT, ...body }, name));
  t.equal(await then({ model: 'chained' }), 'lenient, native');
  t.equal(await then({ model: 'chained' }, 'ci'), 'native', 'without those that the key may not call');
  const own = { model: 'lenient', fallbacks: ['alone', 'native', 'alone'] };
  t.equal(await then(own), 'alone, native', 'those that the client states');
  t.same((await byApi('chat/completions', { ...CHAT, ...own })).fallbacks, ['alone', 'native']);
  t.equal(await then({ model: 'id-of-alone' }), null, 'one deployment alone has none');
});

t.test(
  'a fault that a key may ask for is explained with the one deployment that gets the call',
  async (t) => {
    await newKey(rig, { key_alias: 'faulty', metadata: { allow_chaos: true } });
    const body = { model: 'chaos/500/chained', ...CHAT };
    const text = await byCommand('chat/completions', body, 'faulty');
    t.match(text, /^chaos {2}500: /m);
    t.notMatch(text, /^ {2}then/m, 'another deployment would hide the fault');
    const denied = await byCommand('chat/completions', { model: 'chaos/500/able', ...CHAT }, 'ci');
    t.match(denied, /^refused: 403 chaos_denied/m);
    const bearer = { authorization: `Bearer ${CI}` };
    t.match(
      await send(rig.url, 'POST', '/v1/chat/completions', { model: 'chaos/500/able', ...CHAT }, bearer),
      {
        status: 403,
        text: /chaos_denied/,
      },
    );
  },
);

t.test('what the operator asks of every call is asked of one that is explained', async (t) => {
  const strict = await startRig(t, {
    config: ({ url }) => `model_list:
  - { model_name: demo, litellm_params: { model: litellm_proxy/demo, api_base: "${url}" } }
general_settings: { master_key: ${KEY}, enforce_user_param: true }
`,
  });
  const body = { model: 'demo', ...CHAT };
  const call = await send(strict.url, 'POST', '/v1/chat/completions', body);
  t.match(call, { status: 400, text: /missing_end_user/ });
  const { text } = await send(strict.url, 'POST', '/explain', { body });
  t.match(asJson(text), { error: { status: 400, code: 'missing_end_user' } });
  const args = ['explain', '--config', strict.configPath, '--model', 'demo'];
  t.match((await runWithin(args, { cwd: strict.folder })).out, /^refused: 400 missing_end_user/);
});

t.test('no figure counts what is only explained', async (t) => {
  const figure = async (): Promise<string | null> =>
    firstOf(
      /^throughline_query_parameters_dropped_total (\d+)$/m,
      (await send(rig.url, 'GET', '/metrics')).text,
    );
  const before = await figure();
  t.ok(before);
  const question = { body: { model: 'alone', ...CHAT }, query: 'x=1' };
  t.match(asJson((await send(rig.url, 'POST', '/explain', question)).text), {
    query: [{ name: 'x', action: 'dropped' }],
  });
  t.equal(await figure(), before);
});
