// A web page that is open on the same machine cannot use the proxy: neither by a name that it points at 127.0.0.1, nor by
// requests that browsers send without asking.
import t from 'tap';
import { converse } from '../support/converse.ts';
import { KEY, send, startRig, type Rig } from '../support/rig.ts';

const CALL = '{"model":"demo","messages":[]}';
const models = (url: string): string => `
model_list:
  - { model_name: demo, litellm_params: { model: litellm_proxy/demo, api_base: "${url}" } }
`;

/** The statuses of one request, byte by byte. */
async function ask(
  rig: Rig,
  lines: readonly string[],
  method = 'POST',
  path = '/v1/chat/completions',
): Promise<unknown> {
  const body = method === 'POST' ? CALL : '';
  const head = [
    `${method} ${path} HTTP/1.1`,
    ...lines,
    ...(body === '' ? [] : [`content-length: ${body.length}`]),
  ];
  const { responses } = await converse(rig.port, `${head.join('\r\n')}\r\n\r\n${body}`);
  const [answer] = responses;
  if (answer === undefined) return 'closed';
  const code = (JSON.parse(answer.body || '{}') as { error?: { code?: string } }).error?.code;
  return answer.status === 200 ? 200 : `${answer.status} ${code}`;
}

const HOST = 'host: localhost:4000';
const PAGE = 'origin: https://evil.example';

t.test('without a key, which is on loopback alone', async (t) => {
  const rig = await startRig(t, { config: ({ url }) => models(url) });
  const before = rig.demo.seen.length;
  for (const [title, lines] of [
    ['no type', [HOST, PAGE]],
    ['an empty type', [HOST, PAGE, 'content-type:']],
    ['text', [HOST, PAGE, 'content-type: text/plain']],
    ['text with a parameter', [HOST, PAGE, 'content-type: text/plain; x=application/json']],
    ['a form', [HOST, PAGE, 'content-type: application/x-www-form-urlencoded']],
    ['no type, by the fetch metadata', [HOST, 'sec-fetch-site: cross-site']],
    ['no type, of another port', [HOST, 'origin: http://localhost:3000']],
    ['no type, of an opaque origin', [HOST, 'origin: null']],
  ] as const)
    t.equal(await ask(rig, lines), '415 cross_origin_request', title);
  const upload = [HOST, PAGE, 'content-type: multipart/form-data; boundary=x'];
  t.equal(
    await ask(rig, upload, 'POST', '/v1/audio/transcriptions'),
    '415 cross_origin_request',
    'an upload',
  );
  t.equal(await ask(rig, [HOST, PAGE], 'POST', '/v1/responses/r/cancel'), '415 cross_origin_request');
  t.equal(await ask(rig, [HOST, PAGE], 'POST', '/model/new'), '415 cross_origin_request');
  for (const host of ['evil.example', 'evil.example:4000', '127.0.0.1.evil.example', '10.0.0.1'])
    for (const [method, path] of [
      ['POST', '/v1/chat/completions'],
      ['GET', '/v1/models'],
      ['GET', '/health/readiness'],
      ['OPTIONS', '/v1/models'],
    ] as const)
      // prettier-ignore
      t.equal(await ask(rig, [`host: ${host}`, 'content-type: application/json'], method, path), '421 host_not_allowed');
  t.equal(rig.demo.seen.length, before, 'nothing went upstream');

  t.equal(await ask(rig, [HOST]), 200, 'no page: a program without a content type');
  t.equal(await ask(rig, [HOST, 'origin: http://localhost:4000']), 200, 'a page of the proxy itself');
  t.equal(
    await ask(rig, [HOST, PAGE, 'content-type: application/json']),
    200,
    'browsers ask first for this one',
  );
  t.equal(await ask(rig, [HOST, PAGE], 'GET', '/v1/models'), 200, 'a page cannot read the answer');
  t.equal(
    await ask(rig, [HOST, PAGE, 'access-control-request-method: POST'], 'OPTIONS'),
    '405 method_not_allowed',
  );
});

t.test('with the key that everybody knows', async (t) => {
  const rig = await startRig(t, {
    config: ({ url }) => `${models(url)}general_settings: { master_key: ${KEY} }`,
  });
  const key = `authorization: Bearer ${KEY}`;
  t.equal(await ask(rig, [HOST, PAGE]), '415 cross_origin_request');
  t.equal(await ask(rig, [HOST, PAGE, key]), 200, 'a page cannot send a key unasked');
  t.equal(await ask(rig, [HOST, PAGE, key, 'content-type: text/plain']), '415 unsupported_media_type');
  t.equal(
    await ask(rig, ['host: evil.example', key]),
    '421 host_not_allowed',
    'by a name of its own it could',
  );
  t.equal(await ask(rig, [HOST, `cookie: key=${KEY}`, PAGE]), '415 cross_origin_request');
});

t.test('names and origins that the operator lists', async (t) => {
  const settings = `general_settings: { allowed_hosts: [llm.example.com, "*.corp.example"], cors: { allow_origins: ["https://console.example.com"] } }`;
  const rig = await startRig(t, { config: ({ url }) => `${models(url)}${settings}` });
  for (const host of ['llm.example.com', 'LLM.example.com:443', 'a.corp.example', 'localhost', '127.0.0.1'])
    t.equal(await ask(rig, [`host: ${host}`]), 200, host);
  t.equal(await ask(rig, ['host: corp.example']), '421 host_not_allowed');
  t.equal(await ask(rig, [HOST, 'origin: https://console.example.com']), 200);
  t.equal(await ask(rig, [HOST, PAGE]), '415 cross_origin_request');
  await rig.reconfigure(models(rig.demo.url));
  t.equal(
    await ask(rig, ['host: llm.example.com']),
    '421 host_not_allowed',
    'the present configuration decides',
  );
});

t.test('what is refused is not in the log, and says how to mend it', async (t) => {
  const rig = await startRig(t, { config: ({ url }) => models(url) });
  const secret = 'sk-canary-0123456789';
  for (const path of [
    `/v1/models?api_key=${secret}`,
    `/v1/models?x=${secret}`,
    `/v1/none%3Fapi_key=${secret}`,
    `/v1/none;api_key=${secret}`,
    `/v1/none&key=${secret}`,
    `/v1/none%23${secret}`,
  ])
    t.not(await ask(rig, [HOST], 'GET', path), 200, path);
  await ask(
    rig,
    [HOST, 'content-type: application/json'],
    'POST',
    `/v1/chat/completions?safe=${secret.slice(3)}`,
  );
  await rig.logged(({ msg }) => msg === 'request');
  t.notMatch(JSON.stringify(rig.log), /canary/);
  t.notMatch(JSON.stringify(await rig.rows()), /canary/);
  t.notMatch(rig.demo.seen.map(({ path }) => path).join(), /canary/);
  const answer = await send(rig.url, 'GET', '/v1/models', undefined, { host: 'evil.example' });
  t.match(answer.text, /general_settings\.allowed_hosts/);
});
