// Model listings as agents and platforms read them: shapes, order, wildcards, and what must never be shown.
import t from 'tap';
import type { DemoGateway } from '../../proxy/demo-gateway/demo-gateway.ts';
import { chat, KEY, raw, send, startRig, type Rig } from '../support/rig.ts';

interface Listed {
  readonly id: string;
  readonly object: string;
  readonly created: number;
  readonly owned_by: string;
}

interface Info {
  readonly model_name: string;
  readonly litellm_params: Readonly<Record<string, unknown>>;
  readonly model_info: Readonly<Record<string, unknown>>;
}

const CONFIG = (demo: DemoGateway): string => `
model_list:
  - model_name: zeta
    litellm_params:
      model: litellm_proxy/team/demo
      api_base: "${demo.url}"
      api_key: sk-upstream-secret
      extra_headers: { X-Team: sk-header-secret }
      aws_secret_access_key: sk-aws-secret
      timeout: 30
    model_info: { id: zeta-1, mode: chat, supports_vision: true }
  - model_name: anthropic/claude-sonnet-4-5
    litellm_params: { model: openai/anthropic/claude-sonnet-4-5, api_base: "${demo.url}/compat/v1", api_key: sk-upstream-secret }
  - model_name: alpha
    litellm_params: { model: openai/openai/gpt-4o, api_base: "${demo.url}/compat/v1", input_cost_per_token: 0.5 }
  - model_name: zeta
    litellm_params: { model: litellm_proxy/demo-2, api_base: "${demo.url}", api_key: sk-upstream-secret }
general_settings:
  master_key: ${KEY}
  runtime_models: { allow_join: true }
router_settings:
  default_litellm_params: { extra_headers: { X-All: sk-common-secret } }
`;

const namesOf = (text: string): string[] =>
  (JSON.parse(text) as { data: Listed[] }).data.map((one) => one.id);
const infosOf = (text: string): Info[] => (JSON.parse(text) as { data: Info[] }).data;

t.test('a configuration of plain names', async (t) => {
  const rig = await startRig(t, { config: CONFIG });

  t.test('the list has the shape of the dialect, in the order of the file, without duplicates', async (t) => {
    const answer = await send(rig.url, 'GET', '/v1/models');
    t.equal(answer.status, 200);
    t.equal(answer.headers['content-type'], 'application/json');
    const item = (id: string): Listed => ({ id, object: 'model', created: 1677610602, owned_by: 'openai' });
    const data = ['zeta', 'anthropic/claude-sonnet-4-5', 'alpha'].map(item);
    t.equal(answer.text, JSON.stringify({ data, object: 'list' }), 'key order too');
  });

  t.test('every spelling of the path answers the same bytes', async (t) => {
    for (const [paths, want] of [
      [['/models', '//v1/models', '/v1/v1/models', '/v1/models?return_wildcard_routes=true'], '/v1/models'],
      [['/v1/model/info', '//v1/model/info', '/v1/v1/model/info'], '/model/info'],
    ] as const) {
      const { text } = await send(rig.url, 'GET', want);
      for (const path of paths) {
        const answer = await send(rig.url, 'GET', path);
        t.match(answer, { status: 200, text }, path);
      }
    }
    for (const path of ['/v2/models', '/v1//models', '/V1/models', '/model', '/v1/%6dodels']) {
      const answer = await send(rig.url, 'GET', path);
      t.equal(answer.status, 404, path);
      t.equal((JSON.parse(answer.text) as { error: { code: string } }).error.code, 'route_not_found');
    }
  });

  t.test('HEAD has the head of GET and no body', async (t) => {
    for (const path of ['/v1/models', '/v1/models/alpha', '/model/info']) {
      const got = await send(rig.url, 'GET', path);
      const head = await raw(
        rig.port,
        `HEAD ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${KEY}\r\nconnection: close\r\n\r\n`,
      );
      t.match(head, /^HTTP\/1\.1 200 /);
      t.match(head, new RegExp(`\\r\\ncontent-length: ${got.body.length}\\r\\n`));
      t.ok(head.endsWith('\r\n\r\n'), 'nothing after the head');
    }
  });

  t.test('one model is found by its name, slashes encoded or not', async (t) => {
    const ids = ['alpha', 'anthropic/claude-sonnet-4-5', 'anthropic%2Fclaude-sonnet-4-5', '%61lpha'];
    for (const id of ids) {
      for (const base of ['/v1/models', '/models', '//v1/models', '/v1/v1/models']) {
        const answer = await send(rig.url, 'GET', `${base}/${id}`);
        t.equal(answer.status, 200, `${base}/${id}`);
        const want = { id: decodeURIComponent(id), object: 'model', created: 1677610602, owned_by: 'openai' };
        t.strictSame(JSON.parse(answer.text), want);
      }
    }
  });

  t.test('an unknown or unreadable name is 404, never 401 or 403', async (t) => {
    const unknown = await send(rig.url, 'GET', '/v1/models/alhpa');
    t.equal(unknown.status, 404);
    t.match(JSON.parse(unknown.text), {
      error: { code: 'model_not_found', message: /`alhpa` does not exist/ },
    });
    t.equal(unknown.headers['x-litellm-error-source'], 'client');
    for (const id of ['%', '%ff', 'alpha%2F', 'model%20name', '__proto__', 'constructor']) {
      t.equal((await send(rig.url, 'GET', `/v1/models/${id}`)).status, 404, id);
    }
  });

  t.test('another method is 405 and names those that work', async (t) => {
    for (const path of ['/v1/models', '/v1/models/alpha', '/model/info']) {
      const answer = await send(rig.url, 'POST', path, {});
      t.equal(answer.status, 405, path);
      t.equal(answer.headers['allow'], 'GET, HEAD');
    }
  });

  t.test('without a key there is no list', async (t) => {
    for (const path of ['/v1/models', '/model/info', '/v1/models/alpha', '/v1/models/unknown']) {
      const answer = await send(rig.url, 'GET', path, undefined, { authorization: 'Bearer wrong' });
      t.equal(answer.status, 401, path);
      t.match(JSON.parse(answer.text), { error: { type: 'auth_error', code: 'invalid_api_key' } });
    }
  });

  t.test('model info tells parameters and facts, and never a key or the value of a header', async (t) => {
    const answer = await send(rig.url, 'GET', '/model/info');
    t.equal(answer.status, 200);
    t.notMatch(answer.text, /sk-|"api_key"/);
    const infos = infosOf(answer.text);
    t.same(
      infos.map((one) => one.model_name),
      ['zeta', 'anthropic/claude-sonnet-4-5', 'alpha', 'zeta'],
    );
    t.match(infos[0], {
      litellm_params: { model: 'litellm_proxy/team/demo', api_base: rig.demo.url, timeout: 30 },
      model_info: { id: 'zeta-1', mode: 'chat', supports_vision: true, db_model: false },
    });
    t.match(infos[3]?.model_info, { id: /^[0-9a-f]{64}$/ });
  });

  t.test('facts of the catalogue stand where the entry says nothing', async (t) => {
    const infos = infosOf((await send(rig.url, 'GET', '/model/info')).text);
    const claude = infos[1]?.model_info ?? {};
    t.match(claude, {
      input_cost_per_token: 3e-6,
      output_cost_per_token: 1.5e-5,
      supports_prompt_caching: true,
    });
    t.ok(Number(claude['max_input_tokens']) >= 200_000);
    t.match(infos[2]?.model_info, { input_cost_per_token: 0.5, output_cost_per_token: 1e-5 });
    t.notOk('input_cost_per_token' in (infos[0]?.model_info ?? {}), 'what nobody knows is left out');
  });

  t.test('info of one entry is asked for by its id', async (t) => {
    const one = await send(rig.url, 'GET', '/v1/model/info?litellm_model_id=zeta-1');
    t.same(
      infosOf(one.text).map((info) => info.model_info['id']),
      ['zeta-1'],
    );
    const none = await send(rig.url, 'GET', '/model/info?litellm_model_id=nobody');
    t.equal(none.status, 400);
    t.match(JSON.parse(none.text), {
      error: { code: 'invalid_parameter', message: 'Model id = nobody not found.' },
    });
  });

  t.test('a runtime model is listed after the configured ones, once', async (t) => {
    const entry = (name: string): object => ({
      model_name: name,
      litellm_params: { model: 'litellm_proxy/demo', api_base: rig.demo.url, api_key: 'sk-upstream-secret' },
    });
    for (const name of ['runtime', 'alpha']) {
      t.equal((await send(rig.url, 'POST', '/model/new', entry(name))).status, 200);
    }
    const names = ['zeta', 'anthropic/claude-sonnet-4-5', 'alpha', 'runtime'];
    t.same(namesOf((await send(rig.url, 'GET', '/v1/models')).text), names);
    const info = await send(rig.url, 'GET', '/model/info');
    t.notMatch(info.text, /sk-/);
    t.same(
      infosOf(info.text).map((one) => [one.model_name, one.model_info['db_model']]),
      [
        ...['zeta', 'anthropic/claude-sonnet-4-5', 'alpha', 'zeta'].map((name) => [name, false]),
        ['runtime', false],
        ['alpha', false],
      ],
      'in memory alone: they are in no database',
    );
  });
});

t.test('wildcards', async (t) => {
  const rig: Rig = await startRig(t, {
    config: (demo) => `
model_list:
  - model_name: fast
    litellm_params: { model: openai/openai/gpt-4o-mini, api_base: "${demo.url}/compat/v1", api_key: k }
  - model_name: "*"
    litellm_params: { model: "openai/*", api_base: "${demo.url}/compat/v1", api_key: k }
  - model_name: "anthropic/*"
    litellm_params: { model: "litellm_proxy/anthropic/*", api_base: "${demo.url}", api_key: k }
general_settings: { master_key: ${KEY} }
`,
  });

  t.test(
    'a bare star lists itself and the registry under the compat prefix, over 200 names, none twice',
    async (t) => {
      const names = namesOf((await send(rig.url, 'GET', '/v1/models')).text);
      t.same(names.slice(0, 3), ['fast', '*', 'anthropic/*']);
      t.ok(names.length > 200, `${names.length} names`);
      t.equal(new Set(names).size, names.length);
      t.ok(names.slice(3).every((name) => /^openai\/[^/\s]+$/.test(name)));
      for (const name of ['openai/gpt-4o', 'openai/claude-sonnet-4-5']) t.ok(names.includes(name), name);
      const item = await send(rig.url, 'GET', '/v1/models/openai/gpt-4o');
      t.match(JSON.parse(item.text), { id: 'openai/gpt-4o', owned_by: 'openai' });
      t.equal((await send(rig.url, 'GET', '/v1/models/*')).status, 200);
      t.equal((await send(rig.url, 'GET', '/v1/models/openai/no-such-model')).status, 404);
    },
  );

  t.test(
    'exact names win, long patterns win over short ones, and names go upstream as they were asked',
    async (t) => {
      const upstream = async (model: string): Promise<unknown> => {
        const before = rig.demo.seen.length;
        const answer = await chat(rig, model);
        t.equal(answer.status, 200, model);
        const seen = rig.demo.seen[before];
        return [seen?.path, (JSON.parse(String(seen?.body)) as { model: string }).model];
      };
      const compat = '/compat/v1/chat/completions';
      t.same(await upstream('fast'), [compat, 'openai/gpt-4o-mini']);
      t.same(await upstream('anthropic/claude-x'), ['/v1/chat/completions', 'anthropic/claude-x']);
      t.same(await upstream('mistral/any/thing'), [compat, 'mistral/any/thing']);
      t.same(await upstream('openai/gpt-4o'), [compat, 'openai/gpt-4o']);
    },
  );

  t.test('a bare name is refused here, with the mend, and nothing goes upstream', async (t) => {
    const before = rig.demo.seen.length;
    const answer = await chat(rig, 'gpt-4o');
    t.equal(answer.status, 400);
    t.match(JSON.parse(answer.text), {
      error: {
        code: 'provider_required',
        param: 'model',
        message: /provider\/model: ask for `<provider>\/gpt-4o`/,
      },
    });
    t.equal(rig.demo.seen.length, before);
  });
});
