// What would go upstream, over the API: the same decisions as those of a call.
import t from 'tap';
import { chat, headerOf, lastSeen, send, startRig, type Answer } from '../../support/rig.ts';

t.test('a call explained, and then sent', async (t) => {
  const rig = await startRig(t);
  const explain = async (body: unknown): Promise<Answer> => send(rig.url, 'POST', '/explain', body);
  const call = { model: 'compat', messages: [{ role: 'user', content: 'Hi' }] };
  const headers = { 'X-Note': 'hello', Cookie: 'a=b', 'X-Forwarded-For': '10.0.0.1' };
  const { status, text } = await explain({ body: call, headers });
  t.equal(status, 200);
  const told = JSON.parse(text) as { url: string; headers: { name: string; action: string }[] };
  t.match(told, {
    error: null,
    url: `POST ${rig.demo.url}/compat/v1/chat/completions`,
    model: 'compat',
    upstream_model: 'acme/demo',
    forwards_client_headers: true,
    deployment: { model_name: 'compat' },
    body: [{ member: 'model', change: 'replaced' }],
  });
  const actionOf = (name: string) => told.headers.find((one) => one.name.toLowerCase() === name)?.action;
  t.same([actionOf('x-note'), actionOf('cookie')], ['forwarded', 'dropped']);
  t.equal(rig.demo.seen.length, 0, 'nothing was sent');
  t.notMatch(text, /sk-/);

  await chat(rig, 'compat', {}, { 'x-note': 'hello', cookie: 'a=b' });
  const { rawHeaders } = lastSeen(rig);
  t.same(
    [headerOf(rawHeaders, 'x-note'), headerOf(rawHeaders, 'cookie')],
    ['hello', undefined],
    'as it was said',
  );

  t.match(JSON.parse((await explain({ body: { ...call, model: 'none-such' } })).text), {
    error: { code: 'model_not_found', message: String },
  });
  const wrong = [
    {},
    { body: [] },
    { body: call, endpoint: 'none' },
    { body: call, headers: { 'a b': 'x' } },
    { body: call, headers: { a: 'x\r\ny: z' } },
    { body: call, headers: { a: 1 } },
    { body: call, query: 'a b' },
  ];
  for (const body of wrong)
    t.match(await explain(body), { status: 400, text: /invalid_parameter/ }, JSON.stringify(body));
});

t.test('a realtime session explained', async (t) => {
  const rig = await startRig(t);
  const asked = { endpoint: 'realtime', headers: { 'OpenAI-Beta': 'realtime=v1', Cookie: 'a=b' } };
  const explain = async (more: object): Promise<Answer> =>
    send(rig.url, 'POST', '/explain', { ...asked, ...more });
  const { status, text } = await explain({ body: { model: 'compat' }, query: 'x=1' });
  t.equal(status, 200, text);
  const told = JSON.parse(text) as { headers: { name: string; action: string; rule: string }[] };
  t.match(told, {
    error: null,
    url: `GET ${rig.demo.url}/compat/v1/realtime?model=acme%2Fdemo`,
    model: 'compat',
    upstream_model: 'acme/demo',
    protocol: 'realtime',
    translation: null,
    body: [],
    query: [
      { name: 'model', action: 'dropped' },
      { name: 'x', action: 'dropped' },
    ],
  });
  const actionOf = (name: string) => told.headers.find((one) => one.name.toLowerCase() === name)?.action;
  t.same([actionOf('openai-beta'), actionOf('cookie')], ['forwarded', 'dropped']);
  t.equal(rig.demo.seen.length, 0, 'nothing was sent');
  t.notMatch(text, /sk-/);
  t.match(JSON.parse((await explain({ body: { model: 'none-such' } })).text), {
    error: { code: 'model_not_found' },
  });
  t.match(JSON.parse((await explain({ body: {} })).text), { error: { code: 'missing_model' } });
  for (const body of [{ model: 1 }, { model: 'compat', input: 'x' }])
    t.match(await explain({ body }), { status: 400, text: /invalid_parameter/ }, JSON.stringify(body));
  const entry = {
    model_name: 'draft',
    litellm_params: { model: 'openai/x', api_base: `${rig.demo.url}/compat/v1`, api_key: 'k' },
  };
  t.match(JSON.parse((await explain({ body: { model: 'draft' }, entry })).text), {
    error: null,
    upstream_model: 'x',
  });
});

t.test('an entry that nobody has saved', async (t) => {
  const rig = await startRig(t);
  const ask = async (entry: unknown, more: object = {}): Promise<Readonly<Record<string, unknown>>> => {
    const body = { model: 'draft', messages: [{ role: 'user', content: 'Hi' }] };
    const answer = await send(rig.url, 'POST', '/explain', { body, entry, ...more });
    t.equal(answer.status, 200, answer.text);
    t.notMatch(answer.text, /sk-|hidden/, 'no secret');
    return JSON.parse(answer.text) as Readonly<Record<string, unknown>>;
  };
  const entry = (params: object, name = 'draft'): unknown => ({
    model_name: name,
    litellm_params: { model: 'openai/team/gpt', api_key: 'sk-of-the-draft', ...params },
  });
  // Nobody listens there, and no name server knows it.
  const base = { api_base: 'http://gateway.invalid:1/v1' };
  const listed = async (): Promise<string> => (await send(rig.url, 'GET', '/v1/model/info')).text;
  const before = await listed();
  const seen = rig.demo.seen.length;

  t.match(
    await ask(entry({ ...base, extra_headers: { 'x-team': 'hidden' } }), { headers: { 'x-note': 'a' } }),
    {
      error: null,
      url: 'POST http://gateway.invalid:1/v1/chat/completions',
      upstream_model: 'team/gpt',
      deployment: { model_name: 'draft' },
    },
  );
  t.match(
    await ask(entry({ ...base, forward_client_headers_to_llm_api: false }), { headers: { 'x-note': 'a' } }),
    { forwards_client_headers: false },
  );
  for (const wrong of [
    entry({ model: 'litellm_proxy/x', api_base: 'http://gateway.invalid/v1' }),
    entry({ api_base: 'file:///etc/passwd' }),
    entry({ api_base: 'os.environ/HOME' }),
    entry({}),
    entry(base, 'demo'), // a name of the file
    { model_name: 'draft' },
    {},
  ])
    t.match(await ask(wrong), { error: { status: 400, code: 'invalid_model_entry', message: String } });
  t.match(await ask({ ...(entry(base) as object), model_name: 'another' }), {
    error: { code: 'model_not_found' },
  });
  t.equal((await send(rig.url, 'POST', '/explain', { body: {}, entry: 'text' })).status, 400);
  t.equal(await listed(), before, 'nothing is kept');
  t.notMatch((await send(rig.url, 'GET', '/metrics')).text, 'gateway.invalid', 'no figure knows of it');
  t.equal(rig.demo.seen.length, seen, 'nothing is sent');

  // A change of one that is saved: its key and headers are kept, and not told.
  const made = await send(
    rig.url,
    'POST',
    '/model/new',
    entry({ ...base, extra_headers: { 'x-team': 'hidden' } }),
  );
  const { model_id: id } = JSON.parse(made.text) as { model_id: string };
  const changed = {
    model_name: 'draft',
    litellm_params: { api_base: 'http://other.invalid/v1' },
    model_info: { id },
  };
  t.match(await ask(changed), { error: null, url: 'POST http://other.invalid/v1/chat/completions' });
  t.match(await ask(entry(base)), { error: null });
});
