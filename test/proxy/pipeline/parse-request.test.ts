import t from 'tap';
import type { Test } from 'tap';
import type { FaultCode } from '../../../proxy/errors/codes.ts';
import { RequestBody } from '../../../proxy/bodies/request-body.ts';
import { Fault } from '../../../proxy/errors/fault.ts';
import type { ActiveConfig } from '../../../proxy/active-config/active-config.ts';
import type { Endpoint } from '../../../proxy/protocols/protocol.ts';
import { ENDPOINTS } from '../../../proxy/protocols/table.ts';
import { checkComplete, parseRequest, type ParsedRequest } from '../../../proxy/pipeline/parse-request.ts';
import { exchangeOf, servicesOf, liveOf } from '../../support/services.ts';

const endpoint = (path: string): Endpoint => ENDPOINTS.find((one) => one.path === path) as Endpoint;
const CHAT = endpoint('chat/completions');
const UPLOAD = endpoint('audio/transcriptions');

async function reader(
  t: Test,
): Promise<(body: string | Buffer, more?: Partial<Asked>) => Promise<ParsedRequest>> {
  const active: ActiveConfig = liveOf(
    t,
    'model_list: []\ngeneral_settings: { max_json_depth: 20 }',
    await servicesOf(t),
  );
  return async (body, { type = 'application/json', to = CHAT, pathModel = null } = {}) => {
    const { x } = await exchangeOf(t, active, { headers: type === '' ? {} : { 'content-type': type } });
    return parseRequest(x, to, new RequestBody(Buffer.from(body)), pathModel);
  };
}

interface Asked {
  readonly type: string;
  readonly to: Endpoint;
  readonly pathModel: string | null;
}

async function codeOf(asked: Promise<ParsedRequest>): Promise<FaultCode | 'none'> {
  try {
    await asked;
    return 'none';
  } catch (thrown) {
    if (thrown instanceof Fault) return thrown.code;
    throw thrown;
  }
}

t.test('model, stream and identity are read; the bytes are those that came', async (t) => {
  const read = await reader(t);
  const text =
    '{"model":"m","messages":[],"stream":true,"user":"ann","stream_options":{"x":1},"metadata":{"session_id":"s"},"n":1.0}';
  const ask = await read(text);
  t.match(ask, { model: 'm', bodyModel: 'm', stream: true, streamOptions: { x: 1 } });
  t.match(ask.identityMembers, { user: 'ann', metadata: { session_id: 's' } });
  t.equal(ask.body.bytes.toString(), text);
  t.match(await read('{"model":"m","messages":[]}'), { stream: false, streamOptions: null });
  t.match(await read('{"model":"m","messages":[],"stream":null,"stream_options":null}'), {
    stream: false,
    streamOptions: null,
  });
  t.equal((await read('{"mod\\u0065l":"m\\u00fc","messages":[]}')).model, 'mü', 'escapes are read');
});

t.test('a response in the background is one where the API has such responses', async (t) => {
  const read = await reader(t);
  const ask = async (background: unknown, path: string): Promise<boolean> =>
    (await read(JSON.stringify({ model: 'm', background }), { to: endpoint(path) })).isBackground;
  t.equal(await ask(true, 'responses'), true);
  for (const none of [undefined, null, false, 'true'])
    t.equal(await ask(none, 'responses'), false, String(none));
  t.equal(await ask(true, 'chat/completions'), false);
});

t.test('of a list of prompts each is answered', async (t) => {
  const read = await reader(t);
  const to = endpoint('completions');
  const counts = async (prompt: unknown, more = {}): Promise<object> => {
    const { choices, isSingle } = await read(JSON.stringify({ model: 'm', prompt, ...more }), { to });
    return { choices, isSingle };
  };
  t.strictSame(await counts('one'), { choices: 1, isSingle: true });
  t.strictSame(await counts(['one']), { choices: 1, isSingle: true });
  t.strictSame(await counts([1, 2, 3]), { choices: 1, isSingle: true }, 'one in tokens');
  t.strictSame(await counts([]), { choices: 1, isSingle: true });
  t.strictSame(await counts(['one', 'two'], { n: 3 }), { choices: 6, isSingle: false });
  t.strictSame(await counts([[1, 2], [3]], { best_of: 2 }), { choices: 4, isSingle: false });
});

t.test('a model of the path is asked for, and what the body says is kept apart', async (t) => {
  const read = await reader(t);
  t.match(await read('{"model":"body","messages":[]}', { pathModel: 'path' }), {
    model: 'path',
    bodyModel: 'body',
  });
  t.match(await read('{"messages":[]}', { pathModel: 'path' }), { model: 'path', bodyModel: null });
});

t.test('JSON is any type that ends in json, and what has no type', async (t) => {
  const read = await reader(t);
  for (const type of [
    'application/json; charset=utf-8',
    'APPLICATION/JSON',
    'application/vnd.api+json',
    '',
  ]) {
    t.equal((await read('{"model":"m","messages":[]}', { type })).model, 'm', type);
  }
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']) {
    t.equal(await codeOf(read('{"model":"m"}', { type })), 'unsupported_media_type', type);
  }
});

t.test('forms are read where uploads go', async (t) => {
  const read = await reader(t);
  const type = 'multipart/form-data; boundary=x';
  const part = (name: string, value: string, more = ''): string =>
    `--x\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`;
  const form = `${part('model', 'm')}${part('stream', 'true')}${part('user', 'ann')}${part('file', 'RIFF', '; filename="a"')}--x--\r\n`;
  const ask = await read(form, { type, to: UPLOAD });
  t.match(ask, { model: 'm', stream: true, identityMembers: { user: 'ann' }, members: { kind: 'form' } });
  t.equal(await codeOf(read(form, { type: 'multipart/form-data', to: UPLOAD })), 'bad_multipart');
  t.equal(await codeOf(read(form.slice(0, -9), { type, to: UPLOAD })), 'bad_multipart');
  t.equal(await codeOf(read(part('model', 'n') + form, { type, to: UPLOAD })), 'duplicate_member');
  t.equal((await read('{"model":"m"}', { to: UPLOAD })).model, 'm', 'JSON too');
});

t.test('each kind of bad body has its code', async (t) => {
  const read = await reader(t);
  const cases: readonly (readonly [body: string | Buffer, code: FaultCode])[] = [
    ['', 'body_not_json'],
    ['{"model":"m"', 'body_not_json'],
    ['{"model":"m"} x', 'body_not_json'],
    ["{'model':'m'}", 'body_not_json'],
    ['[]', 'body_not_object'],
    ['"m"', 'body_not_object'],
    ['{"model":"m","model":"n"}', 'duplicate_member'],
    ['{"model":"m","mod\\u0065l":"m"}', 'duplicate_member'],
    ['{"model":"m","stream":true,"stream":false}', 'duplicate_member'],
    [`{"model":"m","x":${'['.repeat(30)}${']'.repeat(30)}}`, 'body_too_deep'],
    [Buffer.from('{"model":"\xff"}', 'latin1'), 'body_not_utf8'],
    ['{}', 'missing_model'],
    ['{"model":null}', 'missing_model'],
    ['{"model":""}', 'missing_model'],
    ['{"model":7}', 'invalid_member'],
    ['{"model":["m"]}', 'invalid_member'],
    [`{"model":"${'m'.repeat(513)}"}`, 'invalid_member'],
    ['{"model":"m","stream":"true"}', 'invalid_member'],
    ['{"model":"m","stream":1}', 'invalid_member'],
    ['{"model":"m","messages":[],"messages":[]}', 'duplicate_member'],
  ];
  for (const [body, code] of cases) t.equal(await codeOf(read(body)), code, String(body).slice(0, 60));
  t.equal(
    await codeOf(read('{"model":"m","messages":[],"x":1,"x":2}')),
    'none',
    'members that nobody acts on are not our business',
  );
});

t.test('what an endpoint works on must be there, and not null', async (t) => {
  const read = await reader(t);
  const checked = async (body: string, path: string): Promise<FaultCode | 'none'> => {
    const to = ENDPOINTS.find((one) => one.path === path) as Endpoint;
    return codeOf(read(body, { to }).then((request) => (checkComplete(request), request)));
  };
  for (const [path, body] of [
    ['chat/completions', '{"model":"m","messages":[]}'],
    ['chat/completions', '{"model":"m","messag\\u0065s":[]}'],
    ['completions', '{"model":"m","prompt":""}'],
    ['embeddings', '{"model":"m","input":"x"}'],
    ['embeddings', '{"model":"m","messages":[]}'],
    ['responses', '{"model":"m","prompt":{"id":"p"}}'],
    ['messages', '{"model":"m","messages":[]}'],
    ['rerank', '{"model":"m","query":"q","documents":[]}'],
    ['audio/transcriptions', '{"model":"m"}'],
    ['images/edits', '{"model":"m"}'],
  ] as const)
    t.equal(await checked(body, path), 'none', `${path} ${body}`);
  for (const [path, body] of [
    ['chat/completions', '{"model":"m"}'],
    ['chat/completions', '{"model":"m","messages":null}'],
    ['chat/completions', '{"model":"m","MESSAGES":[],"prompt":"x","input":"x"}'],
    ['completions', '{"model":"m","messages":[]}'],
    ['embeddings', '{"model":"m","prompt":"x"}'],
    ['responses', '{"model":"m","messages":[]}'],
    ['messages/count_tokens', '{"model":"m"}'],
    ['moderations', '{"model":"m"}'],
    ['images/generations', '{"model":"m"}'],
    ['audio/speech', '{"model":"m"}'],
    ['rerank', '{"model":"m","query":"q"}'],
  ] as const)
    t.equal(await checked(body, path), 'missing_parameter', `${path} ${body}`);
});

t.test('a list of prompts has a bound; one in tokens is one prompt', async (t) => {
  const read = await reader(t);
  const to = endpoint('completions');
  const ask = (prompt: readonly unknown[]) => read(JSON.stringify({ model: 'm', prompt }), { to });
  t.equal((await ask(Array.from({ length: 2_048 }, () => 'x'))).choices, 2_048);
  t.equal(await codeOf(ask(Array.from({ length: 2_049 }, () => 'x'))), 'invalid_member');
  t.equal((await ask(Array.from({ length: 5_000 }, (_, index) => index))).choices, 1);
});
