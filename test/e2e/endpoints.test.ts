// Paths: every endpoint at every base that clients use, on both kinds of upstream; forms; wildcards and groups.
// What counts is the request line and the body that the upstream got.
import t from 'tap';
import {
  chat,
  defaultConfig,
  headerOf,
  KEY,
  lastSeen,
  rowOf,
  send,
  startRig,
  type Answer,
  type Rig,
} from '../support/rig.ts';

const rig = await startRig(t);

const JSON_PATHS = [
  'chat/completions',
  'completions',
  'embeddings',
  'responses',
  'messages',
  'messages/count_tokens',
  'images/generations',
  'audio/speech',
  'moderations',
  'rerank',
] as const;
const FORM_PATHS = [
  'images/edits',
  'images/variations',
  'audio/transcriptions',
  'audio/translations',
] as const;
const FACES = [
  ['demo', '/v1', 'demo'],
  ['compat', '/compat/v1', 'acme/demo'],
] as const;

/** What some endpoint needs. */
const WHOLE = { messages: [], input: 'x', prompt: 'x', query: 'q', documents: ['d'] };

function modelSeen(of: Rig): unknown {
  return (JSON.parse(lastSeen(of).body.toString()) as { model?: unknown }).model;
}

t.test(
  'every endpoint goes to {api_base}/v1/... of a proxy-type, {api_base}/... of a compat-type upstream',
  async (t) => {
    for (const path of JSON_PATHS) {
      for (const [model, prefix, upstreamModel] of FACES) {
        const answer = await send(rig.url, 'POST', `/v1/${path}`, {
          model,
          ...WHOLE,
          input: 'one two',
        });
        t.equal(answer.status, 200, `${model} ${path}`);
        t.equal(lastSeen(rig).method, 'POST');
        t.equal(lastSeen(rig).path, `${prefix}/${path}`);
        t.equal(modelSeen(rig), upstreamModel);
      }
    }
  },
);

t.test('every base that clients use leads to the same place', async (t) => {
  for (const path of JSON_PATHS) {
    for (const base of ['', '/v1', '//v1', '/v1/v1', '/openai/v1']) {
      const answer = await send(rig.url, 'POST', `${base}/${path}`, { model: 'demo', ...WHOLE });
      t.equal(answer.status, 200, `${base}/${path}`);
      t.equal(lastSeen(rig).path, `/v1/${path}`);
    }
  }
  t.equal(
    (await send(rig.url, 'POST', '/v2/rerank', { model: 'demo', query: 'q', documents: [] })).status,
    200,
  );
  t.equal(lastSeen(rig).path, '/v1/rerank');
});

t.test('of the query goes along what the API documents', async (t) => {
  const query = 'api-version=2024-06-01&model=compat&x=%2f&y';
  const made = await send(rig.url, 'POST', `/v1/chat/completions?${query}`, { model: 'demo', ...WHOLE });
  t.equal(lastSeen(rig).path, '/v1/chat/completions?api-version=2024-06-01');
  t.match(await rowOf(rig, made), { model_group: 'demo' });
  const { text: metrics } = await send(rig.url, 'GET', '/metrics');
  t.match(metrics, /^throughline_query_parameters_dropped_total 3$/m);
  const twice = await send(rig.url, 'POST', '/v1/chat/completions?api-version=1&api-version=2', {
    model: 'demo',
    ...WHOLE,
  });
  t.equal(twice.status, 400);
  t.match(JSON.parse(twice.text), { error: { code: 'duplicate_parameter', param: 'api-version' } });
  const before = rig.demo.seen.length;
  const answer = await send(rig.url, 'POST', '/v1/chat/completions?api-key=abc', { model: 'demo', ...WHOLE });
  t.match(JSON.parse(answer.text), { error: { code: 'credentials_in_query' } });
  t.equal(rig.demo.seen.length, before);
});

t.test('a model in the path', async (t) => {
  for (const [model, prefix, upstreamModel] of FACES) {
    for (const path of ['chat/completions', 'completions', 'embeddings', 'images/generations'] as const) {
      for (const base of ['/openai/deployments', '/engines', '/v1/engines']) {
        const title = `${base}/${model}/${path}`;
        const answer = await send(
          rig.url,
          'POST',
          title,
          Buffer.from('{"input":"a","messages":[],"prompt":"a" }'),
        );
        t.equal(answer.status, 200, title);
        t.equal(lastSeen(rig).path, `${prefix}/${path}`);
        t.equal(
          lastSeen(rig).body.toString(),
          `{"input":"a","messages":[],"prompt":"a","model":"${upstreamModel}" }`,
        );
        t.match(await rowOf(rig, answer), { model_group: model, model: upstreamModel });
      }
    }
  }
  t.test('wins over the one in the body', async (t) => {
    await send(rig.url, 'POST', '/openai/deployments/compat/chat/completions', { model: 'demo', ...WHOLE });
    t.equal(modelSeen(rig), 'acme/demo');
  });
  t.test('may be percent-encoded, and a form takes it too', async (t) => {
    await send(rig.url, 'POST', '/engines/demo%2Dx/chat/completions', WHOLE);
    t.equal(modelSeen(rig), 'demo-x');
    const answer = await send(
      rig.url,
      'POST',
      '/openai/deployments/compat/audio/transcriptions',
      form([]),
      FORM,
    );
    t.equal(answer.status, 200, answer.text);
    t.match(lastSeen(rig).body.toString('latin1'), /name="model"\r\n\r\nacme\/demo\r\n/);
  });
});

const FORM = { 'content-type': 'multipart/form-data; boundary="==b=="' };

function form(fields: readonly (readonly [name: string, value: string])[]): Buffer {
  const file = Buffer.concat([
    Buffer.from('RIFF\0\r\n--==b='),
    Buffer.from(Uint8Array.from({ length: 256 }, (_, i) => i)),
  ]);
  const parts = fields.map(
    ([name, value]) => `--==b==\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  const head =
    '--==b==\r\ncontent-disposition: form-data; name="file"; filename="é.wav"\r\nContent-Type: audio/wav\r\n\r\n';
  return Buffer.concat([Buffer.from(parts.join('') + head), file, Buffer.from('\r\n--==b==--\r\n')]);
}

t.test('forms: the model is replaced in its place, the file arrives byte for byte', async (t) => {
  for (const path of FORM_PATHS) {
    for (const [model, prefix, upstreamModel] of FACES) {
      const fields = (name: string): (readonly [string, string])[] => [
        ['prompt', 'model'],
        ['model', name],
        ['temperature', '1.0'],
      ];
      const answer = await send(rig.url, 'POST', `/v1/${path}`, form(fields(model)), FORM);
      t.equal(answer.status, 200, `${model} ${path}: ${answer.text}`);
      t.equal(lastSeen(rig).path, `${prefix}/${path}`);
      t.ok(lastSeen(rig).body.equals(form(fields(upstreamModel))));
      t.equal(headerOf(lastSeen(rig).rawHeaders, 'content-type'), FORM['content-type']);
      t.match(await rowOf(rig, answer), { model: upstreamModel, end_reason: 'complete' });
    }
  }
  t.test(
    'user is recorded and removed, metadata read, control fields kept from a compat-type upstream',
    async (t) => {
      const own = [
        ['model', 'compat'],
        ['language', 'de'],
      ] as const;
      const all = [
        ['user', 'u1'],
        ...own,
        ['metadata', '{"tags":["t"],"session_id":"s-form"}'],
        ['litellm_x', '1'],
      ] as const;
      const answer = await send(rig.url, 'POST', '/v1/audio/transcriptions', form(all), FORM);
      t.ok(
        lastSeen(rig).body.equals(
          form([
            ['model', 'acme/demo'],
            ['language', 'de'],
          ]),
        ),
      );
      t.match(await rowOf(rig, answer), {
        end_user: 'u1',
        session_id: 's-form',
        request_tags: ['t'],
        call_type: 'atranscription',
      });
    },
  );
  t.test('bad ones are refused, and nothing goes upstream', async (t) => {
    const before = rig.demo.seen.length;
    const post = (body: Buffer, headers: Record<string, string> = FORM): Promise<Answer> =>
      send(rig.url, 'POST', '/v1/audio/transcriptions', body, headers);
    const codeOf = async (answer: Promise<Answer>): Promise<string> => {
      const { status, text } = await answer;
      return `${status} ${(JSON.parse(text) as { error: { code: string } }).error.code}`;
    };
    t.equal(await codeOf(post(form([]))), '400 missing_model');
    t.equal(
      await codeOf(
        post(
          form([
            ['model', 'demo'],
            ['model', 'compat'],
          ]),
        ),
      ),
      '400 duplicate_member',
    );
    t.equal(
      await codeOf(
        post(
          form([
            ['model', 'demo'],
            ['api_base', 'http://evil'],
          ]),
        ),
      ),
      '400 parameter_not_allowed',
    );
    t.equal(await codeOf(post(form([['model', 'demo']]).subarray(0, -9))), '400 bad_multipart');
    t.equal(
      await codeOf(post(form([['model', 'demo']]), { 'content-type': 'multipart/form-data' })),
      '400 bad_multipart',
    );
    t.equal(rig.demo.seen.length, before);
  });
  t.test('JSON is taken as well', async (t) => {
    t.equal((await send(rig.url, 'POST', '/v1/images/edits', { model: 'demo', prompt: 'x' })).status, 200);
  });
});

t.test('wildcards', async (t) => {
  const wild = await startRig(t, {
    config: (demo) => `
model_list:
  - { model_name: "*", litellm_params: { model: "openai/*", api_base: "${demo.url}/compat/v1" } }
  - { model_name: "anthropic/*", litellm_params: { model: "litellm_proxy/team/claude/*", api_base: "${demo.url}" } }
  - { model_name: "anthropic/exact", litellm_params: { model: openai/vendor/sub/exact, api_base: "${demo.url}/compat/v1" } }
  - { model_name: "constant-*", litellm_params: { model: litellm_proxy/always, api_base: "${demo.url}" } }
general_settings: { master_key: ${KEY} }
`,
  });
  t.test('a name with a provider is forwarded verbatim, slashes and all', async (t) => {
    for (const name of [
      'vendor/model',
      'vendor/model/with/more',
      'openai/gpt-4o',
      'vendor/Ünï:cödé@1',
      'a/b$&$1',
    ]) {
      t.equal((await chat(wild, name)).status, 200, name);
      t.equal(lastSeen(wild).path, '/compat/v1/chat/completions');
      t.equal(modelSeen(wild), name);
    }
  });
  t.test('a bare name gets 400 that says provider/model, and goes nowhere', async (t) => {
    const before = wild.demo.seen.length;
    const answer = await chat(wild, 'gpt-4o');
    t.equal(answer.status, 400);
    t.match(JSON.parse(answer.text), {
      error: { code: 'provider_required', message: /provider\/model.*`<provider>\/gpt-4o`/ },
    });
    t.equal(wild.demo.seen.length, before);
  });
  t.test('an unknown provider is the gateway’s to refuse', async (t) => {
    const answer = await chat(wild, 'nobody/demo-404');
    t.equal(answer.status, 404);
    t.equal(answer.headers['x-litellm-error-source'], 'upstream');
  });
  t.test('a prefix wildcard hands on what its star stood for', async (t) => {
    await chat(wild, 'anthropic/opus/4');
    t.equal(modelSeen(wild), 'team/claude/opus/4');
    t.equal(lastSeen(wild).path, '/v1/chat/completions');
    await chat(wild, 'constant-x');
    t.equal(modelSeen(wild), 'always');
  });
  t.test('an exact name wins, rest verbatim', async (t) => {
    const answer = await chat(wild, 'anthropic/exact');
    t.equal(modelSeen(wild), 'vendor/sub/exact');
    t.match(await rowOf(wild, answer), { model: 'vendor/sub/exact', model_group: 'anthropic/exact' });
  });
  t.test(
    'the list has what is configured, a literal star, and the registry under the compat prefix',
    async (t) => {
      for (const path of ['/v1/models', '/models', '//v1/models', '/v1/v1/models']) {
        const { data, object } = JSON.parse((await send(wild.url, 'GET', path)).text) as {
          data: { id: string }[];
          object: string;
        };
        const ids = data.map(({ id }) => id);
        t.equal(object, 'list');
        t.same(ids.slice(0, 4), ['*', 'anthropic/*', 'anthropic/exact', 'constant-*']);
        t.ok(ids.length > 200, `${ids.length}`);
        t.ok(ids.slice(4).every((id) => id.startsWith('openai/')));
        t.equal(new Set(ids).size, ids.length);
      }
      for (const id of ['anthropic/exact', 'anthropic%2Fexact', '*']) {
        t.match(JSON.parse((await send(wild.url, 'GET', `/v1/models/${id}`)).text), {
          id: decodeURIComponent(id),
          object: 'model',
        });
      }
      t.equal((await send(wild.url, 'GET', '/v1/models/nobody')).status, 404);
    },
  );
});

t.test('a group shares its requests out by weight', async (t) => {
  const group = await startRig(t, {
    config: (demo) => `
model_list:
  - { model_name: g, litellm_params: { model: litellm_proxy/heavy, api_base: "${demo.url}", weight: 9 } }
  - { model_name: g, litellm_params: { model: openai/light/x, api_base: "${demo.url}/compat/v1", weight: 1 } }
  - { model_name: g, litellm_params: { model: litellm_proxy/never, api_base: "${demo.url}", weight: 0 } }
general_settings: { master_key: ${KEY} }
`,
  });
  const counts = new Map<unknown, number>();
  for (let i = 0; i < 120; i++) {
    t.equal((await chat(group, 'g')).status, 200);
    counts.set(modelSeen(group), (counts.get(modelSeen(group)) ?? 0) + 1);
  }
  // Chances of failing: 0.9^120 = 3e-6 that the light one got none; that it got half is far rarer.
  t.ok((counts.get('light/x') ?? 0) > 0 && (counts.get('light/x') ?? 0) < 60, JSON.stringify([...counts]));
  t.equal(counts.get('never'), undefined);
});

t.test('slashes and odd characters of an upstream name are verbatim', async (t) => {
  const odd = await startRig(t, {
    config: (demo) =>
      defaultConfig(demo).replaceAll('openai/acme/demo,', `"openai/a//b/c:d@2024 \\"x\\" é/",`),
  });
  await chat(odd, 'compat');
  t.equal(modelSeen(odd), 'a//b/c:d@2024 "x" é/');
});

t.test('a model in the path wins over an empty one in the body', async (t) => {
  const rig = await startRig(t);
  for (const model of [null, '', 'nobody']) {
    const body = { model, messages: [{ role: 'user', content: 'one' }] };
    const answer = await send(rig.url, 'POST', '/engines/compat/chat/completions', body);
    t.equal(answer.status, 200, answer.text);
    const { model: sent } = JSON.parse(lastSeen(rig).body.toString()) as { model: unknown };
    t.equal(sent, 'acme/demo', `${JSON.stringify(model)} is replaced`);
  }
});

t.test('the operator allows more of the query, everywhere or for one deployment', async (t) => {
  const config = ({ url }: { readonly url: string }): string => `
model_list:
  - model_name: one
    litellm_params: { model: litellm_proxy/demo, api_base: "${url}", allowed_query_parameters: [deployment-id] }
  - { model_name: two, litellm_params: { model: litellm_proxy/demo, api_base: "${url}" } }
general_settings: { master_key: ${KEY}, allowed_query_parameters: [tenant] }`;
  const own = await startRig(t, { config });
  const path = '/v1/chat/completions';
  const query = 'tenant=a&tenant=b+c&%64eployment-id=d;model=x&model=two';
  await send(own.url, 'POST', `${path}?${query}`, { model: 'one', ...WHOLE });
  t.equal(lastSeen(own).path, `${path}?tenant=a&tenant=b%20c&deployment-id=d%3Bmodel%3Dx`);
  await send(own.url, 'POST', `${path}?${query}`, { model: 'two', ...WHOLE });
  t.equal(lastSeen(own).path, `${path}?tenant=a&tenant=b%20c`);
  await own.reconfigure(config(own.demo).replace(', allowed_query_parameters: [tenant]', ''));
  await send(own.url, 'POST', `${path}?${query}`, { model: 'two', ...WHOLE });
  t.equal(lastSeen(own).path, path);
});
