// A canary in every slot that can hold a secret, then everything the proxy can be made to say or write: no canary may
// be in it, and each may go upstream only where it belongs.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { DemoGateway } from '../../proxy/demo-gateway/demo-gateway.ts';
import { ConfigRefused } from '../../proxy/errors/cannot-start.ts';
import { folder, runWithin } from '../support/cli.ts';
import { ManualClock } from '../support/clock.ts';
import { raw, send, startRig, type Answer, type Rig } from '../support/rig.ts';

/** All differ from their first letters on, so that a shortened one is found, too. */
const CANARY = {
  master: 'sk-mAsTeRq7Zk1canary',
  salt: 'sAlTw8Xk2canary',
  proxyKey: 'sk-pRoXyUp9Yk3canary',
  compatKey: 'sk-cOmPaT4Vk4canary',
  credentialKey: 'sk-cReDlIsT5Uk5canary',
  entryHeader: 'eNtRyHdR6Tk6canary',
  commonHeader: 'cOmMoNhDr7Sk7canary',
  sectionVariable: 'sEcTiOnVaR8Rk8canary',
  runtimeKey: 'sk-rUnTiMe9Qk9canary',
  runtimeHeader: 'rTmHeAdEr1Pk1canary',
  wrong: 'sk-wRoNgKeY2Ok2canary',
  other: 'oThErCrEd3Nk3canary',
  cookie: 'cOoKiE4Mk4canary',
  query: 'qUeRyKeY5Lk5canary',
  body: 'bOdYkEy6Kk6canary',
  prompt: 'pRoMpTtExT7Jk7canary',
} as const;
type Slot = keyof typeof CANARY;

const ENV = {
  MASTER: CANARY.master,
  PROXY_UP: CANARY.proxyKey,
  COMPAT_UP: CANARY.compatKey,
  ENTRY_HEADER: CANARY.entryHeader,
  LITELLM_SALT_KEY: CANARY.salt,
};

const config = (demo: DemoGateway): string => `
model_list:
  - model_name: demo-*
    litellm_params:
      model: litellm_proxy/demo-*
      api_base: "${demo.url}"
      api_key: os.environ/PROXY_UP
      extra_headers: { x-entry: os.environ/ENTRY_HEADER }
  - model_name: compat
    litellm_params: { model: openai/acme/demo, api_base: "${demo.url}/compat/v1", api_key: os.environ/COMPAT_UP }
  - model_name: listed
    litellm_params: { model: litellm_proxy/demo-echo, litellm_credential_name: shared }
  - model_name: dead
    litellm_params: { model: litellm_proxy/dead, api_base: "http://127.0.0.1:1", api_key: os.environ/PROXY_UP }
credential_list:
  - credential_name: shared
    credential_values: { api_base: "${demo.url}", api_key: ${CANARY.credentialKey} }
general_settings:
  master_key: os.environ/MASTER
  forward_client_headers_to_llm_api: true
  store_model_in_db: true
router_settings:
  timeout: 0.2
  default_litellm_params:
    extra_headers: { x-common: ${CANARY.commonHeader}, x-section: os.environ/FROM_FILE }
environment_variables:
  FROM_FILE: ${CANARY.sectionVariable}
`;

/** Which canaries stand in a text: whole, or their telling first part. */
function found(text: string, except: readonly Slot[] = []): Slot[] {
  const slots = Object.keys(CANARY) as Slot[];
  return slots.filter((slot) => !except.includes(slot) && text.includes(CANARY[slot].slice(0, 10)));
}

/** All bytes below a folder, as Latin-1. */
function bytesBelow(path: string): string {
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
    .join('\n');
}

const said = (answer: Answer): string => `${answer.status}\n${answer.rawHeaders.join('\n')}\n${answer.text}`;
const AUTH = { authorization: `Bearer ${CANARY.master}` };
const chatBody = (model: string, more: object = {}): object => ({
  model,
  messages: [{ role: 'user', content: CANARY.prompt }],
  ...more,
});
const CHAT = '/v1/chat/completions';

/** Makes the proxy speak in as many ways as there are; returns all answers. */
async function provoke(rig: Rig, clock: ManualClock): Promise<Map<string, Answer>> {
  const answers = new Map<string, Answer>();
  const call = async (
    title: string,
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string | string[]> = AUTH,
  ): Promise<Answer> => {
    const answer = await send(rig.url, method, path, body, headers);
    answers.set(title, answer);
    return answer;
  };
  for (const model of [
    'demo-plain',
    'compat',
    'listed',
    'dead',
    'none',
    'demo-silent',
    'demo-drop',
    'demo-500',
    'demo-refuse-401',
    'demo-header-then-close',
  ]) {
    const both = [
      () => call(`${model}`, 'POST', CHAT, chatBody(model)),
      () => call(`${model}, streamed`, 'POST', CHAT, chatBody(model, { stream: true })),
    ];
    for (const one of both) await (model === 'demo-silent' ? clock.during(one()) : one());
  }
  for (const name of [
    'authorization',
    'x-litellm-api-key',
    'api-key',
    'x-api-key',
    'x-goog-api-key',
    'ocp-apim-subscription-key',
  ]) {
    await call(`wrong ${name}`, 'POST', CHAT, chatBody('demo-plain'), {
      authorization: '',
      [name]: CANARY.wrong,
    });
    await call(`wrong bearer ${name}`, 'POST', CHAT, chatBody('demo-plain'), {
      authorization: '',
      [name]: `Bearer ${CANARY.wrong}`,
    });
    // The key of the proxy in one place, somebody else's in all the others.
    await call(`other ${name}`, 'POST', CHAT, chatBody('demo-plain'), {
      ...AUTH,
      [name === 'authorization' ? 'x-litellm-api-key' : name]:
        name === 'x-litellm-api-key' || name === 'authorization' ? CANARY.master : CANARY.other,
      [name.toUpperCase().replaceAll('-', '_')]: CANARY.other,
      Cookie: `session=${CANARY.cookie}`,
      'Proxy-Authorization': `Basic ${CANARY.other}`,
      'X-Session-API-Key': CANARY.other,
      'X-Copied': CANARY.master,
      'X-Within': `key=${CANARY.master};`,
      'X-Kept': 'kept',
    });
  }
  await call('basic', 'POST', CHAT, chatBody('demo-plain'), { authorization: `Basic ${CANARY.wrong}` });
  await call('no scheme', 'POST', CHAT, chatBody('demo-plain'), { authorization: CANARY.wrong });
  await call('query', 'POST', `${CHAT}?api_key=${CANARY.query}`, chatBody('demo-plain'));
  await call('query on an open route', 'GET', `/metrics?key=${CANARY.query}`);
  await call('query on an unknown route', 'GET', `/nothing?token=${CANARY.query}`);
  await call('upstream in the body', 'POST', CHAT, chatBody('compat', { api_key: CANARY.body }));
  await call('key as model', 'POST', CHAT, { model: 1, api_key: CANARY.body });
  await call('not JSON', 'POST', CHAT, Buffer.from(`{"model":"demo-plain","user":"${CANARY.body}"`));
  await call('new, refused', 'POST', '/model/new', {
    model_name: 'bad',
    litellm_params: {
      model: 'bedrock/x',
      api_key: CANARY.runtimeKey,
      aws_secret_access_key: CANARY.runtimeKey,
      extra_headers: { 'bad name': CANARY.runtimeHeader },
    },
  });
  await call('new, key of a wrong form', 'POST', '/model/new', {
    model_name: 'bad',
    litellm_params: {
      model: 'litellm_proxy/x',
      api_base: rig.demo.url,
      api_key: `${CANARY.runtimeKey}\r\nx: 1`,
    },
  });
  await call('new, credentials in api_base', 'POST', '/model/new', {
    model_name: 'bad',
    litellm_params: { model: 'litellm_proxy/x', api_base: `http://user:${CANARY.runtimeKey}@127.0.0.1:1` },
  });
  await call('new', 'POST', '/model/new', {
    model_name: 'runtime',
    litellm_params: {
      model: 'litellm_proxy/demo-runtime',
      api_base: rig.demo.url,
      api_key: CANARY.runtimeKey,
      extra_headers: { 'x-runtime': CANARY.runtimeHeader },
    },
    model_info: { id: 'runtime-1' },
  });
  await call('updated', 'POST', '/model/update', {
    model_info: { id: 'runtime-1' },
    litellm_params: { timeout: 9 },
  });
  await call('runtime', 'POST', CHAT, chatBody('runtime'));
  for (const path of [
    '/model/info',
    '/v1/model/info',
    '/model/info?litellm_model_id=runtime-1',
    '/v1/models',
    '/v1/models/compat',
    '/health',
    '/health/readiness',
    '/health/liveness',
    '/metrics',
    '/spend/logs',
    '/spend/logs/ui?start_date=2020-01-01&end_date=2090-01-01',
  ]) {
    await call(path, 'GET', path);
  }
  return answers;
}

const clock = new ManualClock();
const rig = await startRig(t, { config, env: ENV, clock });
const answers = await provoke(rig, clock);

t.test('no answer holds a secret: not its headers, not its body, whatever went wrong', (t) => {
  t.ok(answers.size > 60, `${answers.size} answers`);
  for (const [title, answer] of answers) {
    // The demo gateway echoes what it got: the keys that belong to it, and the prompt.
    const own: Slot[] = title.startsWith('listed')
      ? ['prompt', 'credentialKey', 'commonHeader', 'sectionVariable']
      : [];
    t.same(found(said(answer), own), [], title);
  }
  const refused = ['new, refused', 'new, key of a wrong form', 'new, credentials in api_base'].map(
    (one) => answers.get(one)?.status,
  );
  t.same(refused, [400, 400, 400]);
  t.equal(answers.get('new')?.status, 200);
  t.equal(answers.get('wrong x-api-key')?.status, 401);
  t.equal(answers.get('query')?.status, 400);
  t.end();
});

t.test('no raw answer to a malformed request holds a secret', async (t) => {
  const text = await raw(
    rig.port,
    `POST ${CHAT} HTTP/1.1\r\nHost: localhost\r\nAuthorization : Bearer ${CANARY.wrong}\r\n\r\n`,
  );
  t.match(text, /^HTTP\/1\.1 400 /);
  t.same(found(text), []);
});

t.test('no secret and no prompt is in the log or in the metrics', async (t) => {
  t.ok(rig.log.length > 40, `${rig.log.length} lines`);
  t.same(found(rig.log.map((line) => JSON.stringify(line)).join('\n')), []);
  t.same(found((await send(rig.url, 'GET', '/metrics', undefined, AUTH)).text), []);
});

t.test('a reload that fails on a secret tells of its place alone', async (t) => {
  const before = rig.log.length;
  const broken = config(rig.demo)
    .replace('os.environ/PROXY_UP', `"${CANARY.other}\\n"`)
    .replace('os.environ/COMPAT_UP', `[${CANARY.other}]`)
    .replace('os.environ/MASTER', `{ a: ${CANARY.other} }`)
    .replace('x-common:', '"bad name":');
  await rig.reconfigure(broken);
  const told = rig.log.slice(before);
  t.ok(told.length >= 4, `${told.length} issues`);
  t.same(found(JSON.stringify(told)), []);
  const readiness = await send(rig.url, 'GET', '/health/readiness');
  t.match(readiness.text, /"last_reload":"refused"/);
  t.same(found(readiness.text), []);

  const path = join(folder(t), 'gateway.yaml');
  writeFileSync(path, broken);
  const { text } = await textOf(['check', '--config', path]);
  t.match(text, /gateway\.yaml:\d+:\d+ /);
  t.same(found(text), []);
  await rig.reconfigure(config(rig.demo));
});

t.test('check and explain show no secret', async (t) => {
  const checked = await textOf(['check', '--config', rig.configPath]);
  t.match(checked.text, /^ok: 4 model entries/m);
  t.same(found(checked.text), []);
  for (const model of ['demo-plain', 'compat', 'listed']) {
    const args = ['--config', rig.configPath, '--model', model];
    for (const header of [
      `Authorization: Bearer ${CANARY.master}`,
      `X-Api-Key: ${CANARY.other}`,
      `Cookie: ${CANARY.cookie}`,
      `X-Copied: ${CANARY.other}`,
      'X-Kept: kept',
    ]) {
      args.push('--header', header);
    }
    const explained = await textOf(['explain', ...args]);
    t.equal(explained.code, 0);
    t.match(explained.text, /authorization: Bearer \[secret\]/);
    t.match(explained.text, /x-kept: kept/);
    t.same(found(explained.text), []);
  }
});

t.test('each secret went upstream only where it belongs', (t) => {
  const { seen } = rig.demo;
  t.ok(seen.length > 20, `${seen.length} upstream requests`);
  for (const { path, rawHeaders, body, face } of seen) {
    const model = /"model":"([^"]*)"/.exec(body.toString())?.[1] ?? '';
    const listing = /\/(?:models|model\/info)$/.test(path); // of /health and /model/info: any entry's
    const own: Slot[] = ['prompt', 'commonHeader', 'sectionVariable'];
    if (face === 'compat') own.push('compatKey');
    else if (model === 'demo-echo') own.push('credentialKey');
    else if (model === 'demo-runtime') own.push('runtimeKey', 'runtimeHeader');
    else if (listing) own.push('proxyKey', 'entryHeader', 'credentialKey', 'runtimeKey', 'runtimeHeader');
    else own.push('proxyKey', 'entryHeader');
    t.same(found(`${path}\n${rawHeaders.join('\n')}\n${body.toString()}`, own), [], `${path} ${model}`);
    const names = rawHeaders.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase());
    t.equal(names.filter((name) => name === 'authorization').length, 1, 'one credential: the entry’s');
    t.same(
      names.filter((name) => /cookie|api[-_]key|goog|ocp|^x-(copied|within)$/.test(name)),
      [],
    );
  }
  const kept = seen.filter(({ rawHeaders }) => rawHeaders.includes('kept'));
  t.equal(kept.length, 6, 'and the harmless header beside them arrived');
  t.end();
});

t.test('no byte on disk is a secret: rows, journal, and the key of a stored model', async (t) => {
  t.equal((await send(rig.url, 'GET', '/spend/logs', undefined, AUTH)).status, 200);
  const running = bytesBelow(join(rig.folder, 'data'));
  t.match(running, /demo-silent/, 'the rows are there');
  t.same(found(running), []);
  await rig.stop();
  t.same(found(bytesBelow(join(rig.folder, 'data'))), []);

  const next = await startRig(t, {
    config,
    env: ENV,
    folder: rig.folder,
    demo: { acceptKeys: [CANARY.runtimeKey] },
  });
  const listed = await send(next.url, 'GET', '/model/info?litellm_model_id=runtime-1', undefined, AUTH);
  t.equal(listed.status, 200, 'the model survived');
  t.same(found(listed.text), []);
  await send(
    next.url,
    'POST',
    '/model/update',
    { model_info: { id: 'runtime-1' }, litellm_params: { api_base: next.demo.url } },
    AUTH,
  );
  const answer = await send(next.url, 'POST', CHAT, chatBody('runtime'), AUTH);
  t.equal(answer.status, 200, 'and its key could be read again');
  t.same(found(JSON.stringify(next.log)), []);
});

t.test('another salt cannot read the stored models, and says so without a secret', async (t) => {
  const error = await startRig(t, {
    config,
    env: { ...ENV, LITELLM_SALT_KEY: 'another-salt' },
    folder: rig.folder,
  }).catch((one: unknown) => one);
  t.ok(error instanceof Error);
  t.match((error as Error).message, /stored models cannot be read/);
  t.same(found(String((error as Error).stack)), []);
});

/** Runs a command and collects what it prints. */
async function textOf(args: readonly string[]): Promise<{ text: string; code: number }> {
  return runWithin(args, { env: ENV, cwd: rig.folder }).then(
    ({ code, out, err }) => ({ code, text: out + err }),
    (error: unknown) => {
      if (!(error instanceof ConfigRefused)) throw error;
      return { code: 1, text: JSON.stringify(error.issues) };
    },
  );
}
