// Models that come, change and go while the proxy runs: validated like the file, usable at once, never in the way of
// traffic, and honest about whether they outlive the process.
import { mkdtempSync, rmSync, readFileSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import type { DemoGateway } from '../../proxy/demo-gateway/demo-gateway.ts';
import { startUpstream } from '../support/call.ts';
import { chat, defaultConfig, headerOf, send, startRig, type Answer, type Rig } from '../support/rig.ts';

interface ErrorBody {
  readonly error: { readonly message: string; readonly type: string; readonly code: string };
}

const errorOf = (answer: Answer): ErrorBody['error'] => (JSON.parse(answer.text) as ErrorBody).error;

function entry(rig: Rig, name: string, params: object = {}, info: object = {}): object {
  return {
    model_name: name,
    litellm_params: {
      model: 'litellm_proxy/demo',
      api_base: rig.demo.url,
      api_key: 'sk-runtime-secret',
      ...params,
    },
    model_info: info,
  };
}

async function added(
  t: Test,
  rig: Rig,
  body: object,
): Promise<{ id: string; answer: Record<string, unknown> }> {
  const answer = await send(rig.url, 'POST', '/model/new', body);
  t.equal(answer.status, 200, answer.text);
  const value = JSON.parse(answer.text) as Record<string, unknown>;
  return { id: String(value['model_id']), answer: value };
}

const modelIds = async (rig: Rig): Promise<string[]> => {
  const { text } = await send(rig.url, 'GET', '/model/info');
  const { data } = JSON.parse(text) as { data: { model_info: { id: string } }[] };
  return data.map((one) => one.model_info.id);
};

const upstreamKeyOf = (rig: Rig): string | undefined =>
  headerOf(rig.demo.seen.at(-1)?.rawHeaders ?? [], 'authorization');

t.test('models in memory', async (t) => {
  const rig = await startRig(t);

  t.test('a new model is usable when its answer comes, streams included, and shows no secret', async (t) => {
    const { id, answer } = await added(
      t,
      rig,
      entry(rig, 'fresh', { extra_headers: { 'X-Team': 'sk-header' } }),
    );
    t.match(answer, {
      model_name: 'fresh',
      litellm_params: { model: 'litellm_proxy/demo', api_base: rig.demo.url },
      model_info: { id, db_model: false },
      persisted: false,
      message: /in memory only: it is gone after a restart.*store_model_in_db/,
    });
    t.notMatch(JSON.stringify(answer), /sk-/);
    t.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4/);
    const stream = await chat(rig, 'fresh', { stream: true });
    t.equal(stream.status, 200);
    t.match(stream.text, /data: \[DONE\]\n\n$/);
    t.equal(upstreamKeyOf(rig), 'Bearer sk-runtime-secret');
    t.equal(headerOf(rig.demo.seen.at(-1)?.rawHeaders ?? [], 'x-team'), 'sk-header');
    t.equal(stream.headers['x-litellm-model-id'], id);
    const [row] = (await rig.rows()).slice(-1);
    t.match(row, { model_group: 'fresh', model_id: id, status: 'success' });
    t.equal((await send(rig.url, 'GET', '/v1/models/fresh')).status, 200);
  });

  t.test('an id of the caller is kept, and a second entry of that id replaces the first', async (t) => {
    const { id } = await added(t, rig, entry(rig, 'mine', {}, { id: 'mine-1', mode: 'chat' }));
    t.equal(id, 'mine-1');
    await added(t, rig, entry(rig, 'mine-renamed', {}, { id: 'mine-1' }));
    t.equal((await modelIds(rig)).filter((one) => one === 'mine-1').length, 1);
    t.equal((await chat(rig, 'mine')).status, 404);
    t.equal((await chat(rig, 'mine-renamed')).status, 200);
  });

  t.test('an update replaces the members it names and keeps the rest, keys included', async (t) => {
    const { id } = await added(
      t,
      rig,
      entry(rig, 'changing', { timeout: 7 }, { id: 'changing-1', mode: 'chat' }),
    );
    const answer = await send(rig.url, 'POST', '/model/update', {
      model_name: 'changed',
      litellm_params: { model: 'litellm_proxy/demo-echo' },
      model_info: { id },
    });
    t.equal(answer.status, 200, answer.text);
    t.match(JSON.parse(answer.text), {
      model_id: id,
      model_name: 'changed',
      litellm_params: { model: 'litellm_proxy/demo-echo', timeout: 7 },
      model_info: { mode: 'chat' },
      persisted: false,
      message: /^updated in memory only/,
    });
    t.equal((await chat(rig, 'changing')).status, 404);
    t.equal((await chat(rig, 'changed')).status, 200);
    t.equal(upstreamKeyOf(rig), 'Bearer sk-runtime-secret');
  });

  t.test('a deleted model is gone at once, and a stream that runs on it ends whole', async (t) => {
    const { id } = await added(t, rig, entry(rig, 'leaving', { model: 'litellm_proxy/demo-hold' }));
    const before = rig.demo.seen.length;
    const running = chat(rig, 'leaving', { stream: true });
    await rig.demo.waitFor(before + 1);
    const answer = await send(rig.url, 'POST', '/model/delete', { id });
    t.equal(answer.status, 200);
    t.strictSame(JSON.parse(answer.text), { message: `Model: ${id} deleted successfully` });
    t.equal((await chat(rig, 'leaving')).status, 404);
    t.notOk((await modelIds(rig)).includes(id));
    rig.demo.release();
    t.match(await running, { status: 200, broken: false, text: /data: \[DONE\]\n\n$/ });
    const again = await send(rig.url, 'POST', '/model/delete', { id });
    t.equal(again.status, 404);
    t.match(errorOf(again), {
      code: 'model_id_not_found',
      message: `Model with id=${id} not found among runtime models.`,
    });
  });

  t.test(
    'an entry is judged by the rules of the file, all issues at once, and changes nothing',
    async (t) => {
      const ids = await modelIds(rig);
      const cases: readonly (readonly [body: unknown, message: RegExp])[] = [
        [
          entry(rig, 'bad', { model: 'cohere/gpt' }),
          /litellm_params\.model: .*litellm_proxy\/NAME.*openai\/NAME/,
        ],
        [entry(rig, 'bad', { api_base: `${rig.demo.url}/v1` }), /litellm_params\.api_base: .*\/v1/],
        [entry(rig, 'bad', { model: 'openai/a/b' }), /litellm_params\.api_base: .*\/v1/],
        [
          entry(rig, 'bad', { api_key: 'os.environ/NOT_SET_HERE' }),
          /litellm_params\.api_key: .*NOT_SET_HERE/,
        ],
        [
          entry(rig, 'bad', { tiemout: 3, api_bsae: 'x' }),
          /tiemout: unknown key.*timeout.*; .*api_bsae.*api_base/,
        ],
        [
          { ...entry(rig, 'bad'), model_inof: { access_groups: ['a'] } },
          /model_inof: unknown key.*model_info/,
        ],
        [{ ...entry(rig, 'bad'), rpm: 3 }, /rpm: unknown key/],
        [{ model_name: 'bad' }, /^litellm_params: is missing - send an object with model$/],
        [{}, /model_name.*; .*litellm_params/],
        [entry(rig, 'bad', {}, { id: 7 }), /model_info\.id/],
      ];
      for (const [body, message] of cases) {
        const answer = await send(rig.url, 'POST', '/model/new', body);
        t.equal(answer.status, 400, JSON.stringify(body));
        const error = errorOf(answer);
        t.match(error, { code: 'invalid_model_entry', type: 'invalid_request_error' });
        t.match(error.message, message);
        t.notMatch(error.message, /sk-runtime-secret|\.yaml/, 'no secret, no file');
      }
      t.same(await modelIds(rig), ids);
      const { id } = await added(t, rig, entry(rig, 'good'));
      const update = await send(rig.url, 'POST', '/model/update', {
        litellm_params: { model: 'nope' },
        model_info: { id },
      });
      t.equal(errorOf(update).code, 'invalid_model_entry');
      t.equal((await chat(rig, 'good')).status, 200, 'the old one serves on');
    },
  );

  t.test('members that no entry has are passed over: clients of LiteLLM send some', async (t) => {
    const body = { ...entry(rig, 'extra'), additional: {}, model_id: 'x' };
    const { model_id: id } = JSON.parse((await send(rig.url, 'POST', '/model/new', body)).text) as {
      readonly model_id: string;
    };
    for (const [method, path] of [
      ['POST', '/model/update'],
      ['PATCH', `/model/${id}/update`],
    ] as const) {
      const change = { id, additional: {}, litellm_params: { timeout: 5 }, model_info: { id } };
      const answer = await send(rig.url, method, path, change);
      t.equal(answer.status, 200, answer.text);
    }
    t.equal((await chat(rig, 'extra')).status, 200);
  });

  t.test('entries of the file are not changed from here', async (t) => {
    const [id = ''] = await modelIds(rig);
    for (const [path, body] of [
      ['/model/new', entry(rig, 'demo', {}, { id })],
      ['/model/update', { model_info: { id }, litellm_params: { timeout: 1 } }],
      ['/model/delete', { id }],
    ] as const) {
      const answer = await send(rig.url, 'POST', path, body);
      t.equal(answer.status, 400, path);
      t.match(errorOf(answer), { code: 'model_in_config', message: /edit the file/ });
    }
    t.equal((await chat(rig, 'demo')).status, 200);
  });

  t.test('bad bodies are told apart', async (t) => {
    const json = { 'content-type': 'application/json' };
    const post = (path: string, body: unknown, headers: Record<string, string> = json): Promise<Answer> =>
      send(rig.url, 'POST', path, body, headers);
    const cases: readonly (readonly [Answer, number, string])[] = [
      [await post('/model/new', Buffer.from('{'), json), 400, 'body_not_json'],
      [await post('/model/new', [], json), 400, 'body_not_object'],
      [await post('/model/new', Buffer.from('null'), json), 400, 'body_not_object'],
      [await post('/model/new', {}, { 'content-type': 'text/plain' }), 415, 'unsupported_media_type'],
      [
        await post('/model/new', {}, { 'content-type': 'application/x-www-form-urlencoded' }),
        415,
        'unsupported_media_type',
      ],
      [await post('/model/update', { litellm_params: {} }), 400, 'invalid_model_entry'],
      [await post('/model/update', { model_info: { id: 'nobody' } }), 404, 'model_id_not_found'],
      [await post('/model/delete', {}), 400, 'invalid_model_entry'],
      [await post('/model/delete', { id: 3 }), 400, 'invalid_model_entry'],
      [await send(rig.url, 'GET', '/model/new'), 405, 'method_not_allowed'],
      [await post('/model/new', {}, { ...json, authorization: 'Bearer sk-wrong' }), 401, 'invalid_api_key'],
      [await post('/model/new', {}, { ...json, authorization: '' }), 401, 'missing_api_key'],
    ];
    for (const [answer, status, code] of cases)
      t.match([answer.status, errorOf(answer).code], [status, code], answer.text);
    t.notMatch(cases.map(([answer]) => answer.text).join(), /sk-wrong/);
  });

  t.test('fifty new models at once during traffic: all are there, no request fails', async (t) => {
    const before = (await modelIds(rig)).length;
    let going = true;
    const traffic = Promise.all(
      Array.from({ length: 8 }, async () => {
        const statuses: number[] = [];
        while (going) statuses.push((await chat(rig, 'demo', { stream: statuses.length % 2 === 0 })).status);
        return statuses;
      }),
    );
    const names = Array.from({ length: 50 }, (_, n) => `burst-${n}`);
    const answers = await Promise.all(
      names.map((name) => send(rig.url, 'POST', '/model/new', entry(rig, name))),
    );
    t.same(
      answers.map((answer) => answer.status),
      names.map(() => 200),
    );
    const calls = await Promise.all(names.map((name) => chat(rig, name)));
    t.same(
      calls.map((answer) => answer.status),
      names.map(() => 200),
    );
    going = false;
    const statuses = (await traffic).flat();
    t.ok(statuses.length >= 8);
    t.same(
      statuses.filter((status) => status !== 200),
      [],
    );
    t.equal((await modelIds(rig)).length, before + 50);
    const ids = answers.map((answer) => (JSON.parse(answer.text) as { model_id: string }).model_id);
    const gone = await Promise.all(ids.map((id) => send(rig.url, 'POST', '/model/delete', { id })));
    t.same(
      gone.map((answer) => answer.status),
      ids.map(() => 200),
    );
    t.equal((await modelIds(rig)).length, before);
  });

  t.test(
    'runtime models outlive a reload of the file, and the file may not take their place by name',
    async (t) => {
      const allowed = '  runtime_models: { allow_join: true }\n';
      await rig.reconfigure(defaultConfig(rig.demo, allowed));
      await added(t, rig, entry(rig, 'demo', { model: 'litellm_proxy/demo-echo' }, { id: 'second-demo' }));
      await rig.reconfigure(defaultConfig(rig.demo, `${allowed}  max_request_headers: 150\n`));
      t.ok((await modelIds(rig)).includes('second-demo'));
      const ids = new Set<string | string[] | undefined>();
      for (let n = 0; n < 60 && ids.size < 2; n++)
        ids.add((await chat(rig, 'demo')).headers['x-litellm-model-id']);
      t.equal(ids.size, 2, 'both entries of the name get their share');
    },
  );
});

t.test('models in the store', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'throughline-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const upstream = await startUpstream(t, ({ res, req }) => {
    res.writeHead(200, { 'content-type': 'application/json' });
    res.end(
      JSON.stringify({ id: 'x', object: 'chat.completion', key: req.headers.authorization, choices: [] }),
    );
  });
  const config = (demo: DemoGateway): string => defaultConfig(demo, '  store_model_in_db: true\n');
  const stored = (name: string, id: string): object => ({
    model_name: name,
    litellm_params: { model: 'litellm_proxy/demo', api_base: upstream, api_key: 'sk-runtime-secret' },
    model_info: { id },
  });

  t.test('the answer says that they last, and the key lies encrypted on the disk', async (t) => {
    const rig = await startRig(t, { folder, config });
    const { answer } = await added(t, rig, stored('kept', 'kept-1'));
    t.match(answer, { persisted: true, model_info: { db_model: true }, message: /restart/ });
    t.notMatch(String(answer['message']), /memory/);
    await added(t, rig, stored('dropped', 'dropped-1'));
    const update = { model_name: 'kept-renamed', model_info: { id: 'kept-1' } };
    t.match(JSON.parse((await send(rig.url, 'POST', '/model/update', update)).text), { persisted: true });
    t.equal((await send(rig.url, 'POST', '/model/delete', { id: 'dropped-1' })).status, 200);
    await rig.stop();
    const data = join(folder, 'data');
    const files = readdirSync(data, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
    t.ok(files.length >= 2);
    for (const file of files) {
      t.notOk(readFileSync(join(file.parentPath, file.name)).includes('sk-runtime-secret'), file.name);
    }
  });

  t.test('after a restart they serve as they were left', async (t) => {
    const rig = await startRig(t, { folder, config });
    t.same(
      (await modelIds(rig)).filter((id) => id.length < 20),
      ['kept-1'],
    );
    const answer = await chat(rig, 'kept-renamed');
    t.match(JSON.parse(answer.text), { key: 'Bearer sk-runtime-secret' });
    t.equal((await chat(rig, 'dropped')).status, 404);
  });
});
