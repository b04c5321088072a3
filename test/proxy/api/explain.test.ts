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
