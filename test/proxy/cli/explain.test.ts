// `explain` promises: what it prints is what is sent. So each case is explained and really sent, and the two are
// compared header by header and byte by byte.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { DemoGateway } from '../../../proxy/demo-gateway/demo-gateway.ts';
import { folder, runCli, runWithin } from '../../support/cli.ts';
import { openSession, startRealtimeUpstream } from '../../support/realtime-upstream.ts';
import { KEY, send, startRig } from '../../support/rig.ts';

const config = (demo: DemoGateway): string => `
model_list:
  - model_name: proxy
    litellm_params:
      { model: litellm_proxy/demo, api_base: "${demo.url}", api_key: sk-upstream-secret, extra_headers: { X-Team: red, X-LiteLLM-Session-Id: fixed } }
  - model_name: compat
    litellm_params: { model: openai/acme/demo, api_base: "${demo.url}/compat/v1", api_key: sk-upstream-secret }
  - model_name: keyless
    litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}", extra_headers: { authorization: Basic b3BlcmF0b3I= } }
  - model_name: "wild/*"
    litellm_params: { model: "openai/acme/*", api_base: "${demo.url}/compat/v1", api_key: sk-upstream-secret }
  - model_name: translated
    litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}", supported_endpoints: [chat] }
  - model_name: bifrost
    litellm_params:
      { model: openai/acme/demo, api_base: "${demo.url}/compat/v1", gateway: bifrost, extra_headers: { X-BF-Dim-Run: operator } }
    model_info: { tags: ["team:blue"] }
general_settings:
  master_key: ${KEY}
  forward_client_headers_to_llm_api: true
  deny_headers: [x-internal-*]
`;

const HEADERS: readonly (readonly [string, string])[] = [
  ['Accept', 'application/json'],
  ['X-LiteLLM-Session-Id', 'session-1'],
  ['X-Kept', 'kept'],
  ['X-Team', 'blue'],
  ['X-Internal-Trace', '1'],
  ['X-Stainless-Lang', 'js'],
  ['X_LiteLLM_Session_Id', 'twin'],
  ['X-Api-Key', 'sk-somebody-else'],
  ['Cookie', 'a=b'],
  ['Anthropic-Beta', 'tools-1'],
  ['OpenAI-Beta', 'assistants=v2'],
  ['Traceparent', '00-1-1-00'],
  ['X-LiteLLM-Tags', 'a,b'],
  ['X-Copy', 'the key is sk-somebody-else'],
];
const MESSAGES = [{ role: 'user', content: 'Hello' }];
const CASES: readonly (readonly [title: string, model: string, more: object])[] = [
  ['a proxy-type entry', 'proxy', {}],
  [
    'a proxy-type entry, streamed, with an end user',
    'proxy',
    { stream: true, user: 'u1', metadata: { tags: ['a'] } },
  ],
  [
    'a gateway with headers of its own',
    'bifrost',
    {
      user: 'u1',
      tags: ['b', 'not\u007fprintable'],
      metadata: { spend_logs_metadata: { run: 7, job: 'x' } },
    },
  ],
  [
    'a compat-type entry with control members',
    'compat',
    { user: 'u1', metadata: { tags: ['a'] }, tags: ['b'], litellm_session_id: 's', seed: 1 },
  ],
  [
    'a stream that asks for its usage itself',
    'compat',
    { stream: true, stream_options: { include_usage: true } },
  ],
  ['a stream with options of its own', 'compat', { stream: true, stream_options: { chunk: 1 } }],
  ['an entry without a key', 'keyless', {}],
  ['a wildcard', 'wild/demo', {}],
];

const rig = await startRig(t, { config });

interface Explained {
  readonly text: string;
  readonly first: string;
  readonly sent: readonly string[];
  readonly rules: ReadonlyMap<string, string>;
  readonly changes: readonly string[];
  readonly bodyBytes: readonly [before: number, after: number];
}

function parse(text: string): Explained {
  const section = (name: string): string[] =>
    (new RegExp(`\\n${name}[^\\n]*\\n((?:  .*\\n)*)`).exec(text)?.[1] ?? '')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => line.trim());
  const rules = section('headers').map((line): [string, string] => {
    const [, action = '', name = '', rule = ''] = /^(\S+)\s+(\S+)\s+(.*)$/.exec(line) ?? [];
    return [name, `${action}: ${rule}`];
  });
  const sizes = /\nbody (\d+) -> (\d+) bytes/.exec(text);
  return {
    text,
    first: text.slice(0, text.indexOf('\n')),
    sent: section('sent'),
    rules: new Map(rules),
    changes: section('body'),
    bodyBytes: [Number(sizes?.[1]), Number(sizes?.[2])],
  };
}

async function explained(path: string, args: readonly string[]): Promise<{ code: number; text: string }> {
  const { code, out, err } = await runWithin(['explain', '--config', path, ...args], { cwd: rig.folder });
  return { code, text: out + err };
}

const flags = HEADERS.flatMap(([name, value]) => ['--header', `${name}: ${value}`]);

for (const [title, model, more] of CASES) {
  t.test(`${title}: what is printed is what is sent`, async (t) => {
    const body = { model, messages: MESSAGES, ...more };
    const file = join(rig.folder, 'body.json');
    writeFileSync(file, JSON.stringify(body));
    const { code, text } = await explained(rig.configPath, [
      '--model',
      model,
      ...flags,
      '--header',
      `Authorization: Bearer ${KEY}`,
      '--body',
      file,
    ]);
    t.equal(code, 0);
    const told = parse(text);

    const before = rig.demo.seen.length;
    t.equal(
      (await send(rig.url, 'POST', '/v1/chat/completions', body, Object.fromEntries(HEADERS))).status,
      200,
    );
    const seen = rig.demo.seen[before];
    if (seen === undefined) throw new Error('nothing went upstream');
    const sent: string[] = [];
    for (let i = 0; i < seen.rawHeaders.length; i += 2) {
      const name = (seen.rawHeaders[i] as string).toLowerCase();
      if (name !== 'host' && name !== 'connection') sent.push(`${name}: ${seen.rawHeaders[i + 1]}`);
    }
    const masked = sent
      .map((line) => line.replace(/^authorization: Bearer .*/, 'authorization: Bearer [secret]'))
      .map((line) =>
        line.replace(/^(x-team: red|x-bf-dim-run: operator)/, (line) => `${line.split(':')[0]}: [secret]`),
      )
      .map((line) => line.replace(/^authorization: Basic .*/, 'authorization: Bearer [secret]'));
    t.same([...told.sent].sort(), masked.sort());
    t.equal(told.first, `${seen.method} ${rig.demo.url}${seen.path}`);
    t.same(told.bodyBytes, [JSON.stringify(body).length, seen.body.length]);

    const was = new Set(Object.keys(body));
    const is = JSON.parse(seen.body.toString()) as Record<string, unknown>;
    const changed = [...new Set([...was, ...Object.keys(is)])].filter(
      (name) => JSON.stringify((body as Record<string, unknown>)[name]) !== JSON.stringify(is[name]),
    );
    const toldChanges = told.changes
      .filter((line) => line !== 'passed on as it is')
      .map((line) => line.split(/\s+/)[1]);
    t.same(toldChanges.sort(), changed.sort(), 'and each change of the body is told');
  });
}

t.test('a translation is shown with what it leaves out', async (t) => {
  const file = join(rig.folder, 'messages.json');
  const body = { model: 'translated', max_tokens: 10, top_k: 3, container: 'c', messages: MESSAGES };
  writeFileSync(file, JSON.stringify(body));
  const args = [
    '--model',
    'translated',
    '--endpoint',
    'messages',
    '--header',
    'anthropic-beta: a',
    '--body',
    file,
  ];
  const { text } = await explained(rig.configPath, args);
  t.match(text, /^POST .*\/v1\/chat\/completions\n/);
  t.match(text, / protocol {3}messages -> chat, translated\n/);
  t.match(text, / dropped {4}.*container/);
  t.match(text, /dropped {3}anthropic-beta +belongs to the protocol messages/);
  const own = await explained(rig.configPath, [
    '--model',
    'proxy',
    '--endpoint',
    '/v1beta/models/x:generateContent',
  ]);
  t.match(own.text, /^POST .*\/v1beta\/models\/demo:generateContent\n/);
  t.match(own.text, / protocol {3}gemini, as it is\n/);
});

t.test('each header has the rule that forwarded, stamped, replaced or dropped it', async (t) => {
  const told = parse((await explained(rig.configPath, ['--model', 'proxy', ...flags])).text);
  t.match(Object.fromEntries(told.rules), {
    'x-kept': 'forwarded: prefix x-',
    'anthropic-beta': 'forwarded: prefix anthropic-',
    'x-internal-trace': 'dropped: general_settings.deny_headers: x-internal-*',
    'x-stainless-lang': /^dropped: SDK telemetry/,
    x_litellm_session_id: /^dropped: underscore twin of the reserved x-litellm-session-id/,
    'x-api-key': 'dropped: a credential of the caller',
    cookie: 'dropped: a credential of the caller',
    'x-copy': 'dropped: its value holds the key of the caller',
    traceparent: 'dropped: matches no forwarded prefix',
    'x-team': /^replaced: extra_headers of the operator win/,
    'x-litellm-session-id': 'stamped: session id of the request',
    authorization: "set: the entry's api_key",
  });
  t.match(told.text, /session {4}session-1 \(x-litellm-session-id\)/);
});

t.test('of a group the order for a session is shown, and it is the one that serves', async (t) => {
  const group = await startRig(t, {
    config: (demo) => {
      const entry = (name: string, path: string, more = ''): string =>
        `  - { model_name: ${name}, litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}${path}"${more} } }\n`;
      return (
        `model_list:\n${entry('g', '/last')}${entry('g', '/one', ', order: 1')}${entry('g', '/two', ', order: 1, weight: 2')}` +
        `${entry('backup', '')}general_settings: { master_key: ${KEY} }\nrouter_settings: { default_fallbacks: [backup] }\n`
      );
    },
  });
  const first = new Set<string>();
  for (let i = 0; i < 40; i += 1) {
    const { text } = await explained(group.configPath, [
      '--model',
      'g',
      '--header',
      `x-litellm-session-id: s${i}`,
    ]);
    const order = [...text.matchAll(/^ {2}\d +(\S+), id/gm)].map(([, base]) => base);
    const body = { model: 'g', messages: MESSAGES };
    const answer = await send(group.url, 'POST', '/v1/chat/completions', body, {
      'x-litellm-session-id': `s${i}`,
    });
    t.match(text, /^entries of g, by order and session$/m);
    t.equal(answer.headers['x-litellm-model-api-base'], order[0]);
    t.match(order, [/one|two/, /one|two/, /last/]);
    t.match(text, /, weight 2, order 1\n/);
    t.match(text, /^ {2}then {7}backup$/m);
    first.add(order[0] ?? '');
  }
  t.equal(first.size, 2);
  const { text } = await explained(group.configPath, ['--model', 'g']);
  t.match(text, /^entries of g, by order and simple-shuffle; one order of many$/m);
});

t.test('a refusal is explained, too, and nothing is sent', async (t) => {
  const before = rig.demo.seen.length;
  const unknown = await explained(rig.configPath, ['--model', 'prox']);
  t.equal(unknown.code, 1);
  t.match(unknown.text, /^refused: 404 model_not_found: .*Did you mean `proxy`/);
  const file = join(rig.folder, 'bad.json');
  writeFileSync(file, '{"model":"proxy","model":"compat"}');
  const twice = await explained(rig.configPath, ['--model', 'proxy', '--body', file]);
  t.equal(twice.code, 1);
  t.match(twice.text, /^refused: 400 duplicate_member/);
  t.equal(rig.demo.seen.length, before);
});

t.test('the command prints the same as a process', async (t) => {
  const args = ['--model', 'compat', '--header', 'X-LiteLLM-Session-Id: s1', '--header', 'X-Kept: 1'];
  const { code, out } = await runCli(t, ['explain', '--config', rig.configPath, ...args], { cwd: folder(t) });
  t.equal(code, 0);
  t.equal(out, (await explained(rig.configPath, args)).text);
});

t.test('the query, parameter by parameter, as it is sent', async (t) => {
  const query = 'api-version=2024-10-21&model=compat&%6dodel=x&safe=sk';
  const { text: out } = await explained(rig.configPath, ['--model', 'proxy', '--query', query]);
  const path = '/v1/chat/completions?api-version=2024-10-21';
  t.ok(out.startsWith(`POST ${rig.demo.url}${path}\n`), out.slice(0, 200));
  t.match(
    out,
    /\nquery\n {2}forwarded api-version +a parameter of this endpoint\n {2}dropped {3}model +no .*allowed_query_parameters\n/,
  );
  await send(rig.url, 'POST', `/v1/chat/completions?${query}`, { model: 'proxy', messages: [] });
  t.equal(rig.demo.seen.at(-1)?.path, path);
});

t.test('a realtime session: what is printed is what the handshake says', async (t) => {
  const upstream = await startRealtimeUpstream(t);
  const own = await startRig(t, {
    config: () => `
model_list:
  - model_name: rt
    litellm_params: { model: openai/gpt-realtime, api_base: "${upstream.url}/v1", api_key: sk-upstream-secret, extra_headers: { x-team: red } }
general_settings: { master_key: ${KEY} }
`,
  });
  const headers = {
    'OpenAI-Beta': 'realtime=v1',
    'X-Note': 'a',
    'X-LiteLLM-Session-Id': 's-1',
    cookie: 'a=b',
  };
  const args = Object.entries(headers).flatMap(([name, value]) => ['--header', `${name}: ${value}`]);
  const question = ['--model', 'rt', '--endpoint', '/v1/realtime', '--query', 'intent=x', ...args];
  const { code, text } = await explained(own.configPath, question);
  t.equal(code, 0, text);
  const told = parse(text);
  const { peer } = await openSession(`${own.url}/v1/realtime?model=rt&intent=x`, {
    headers: { ...headers, authorization: `Bearer ${KEY}` },
  });
  const session = await upstream.next();
  peer.socket.terminate();
  t.equal(told.first, `GET ${upstream.url}${session.url}`);
  t.equal(session.url, '/v1/realtime?model=gpt-realtime');
  const printed = text.slice(text.indexOf('\nsent\n')).matchAll(/^ {2}([\w-]+): (.*)$/gm);
  const hidden = { authorization: 'Bearer [secret]', 'x-team': '[secret]', 'sec-websocket-key': '(random)' };
  const { host: _, ...sent } = session.headers;
  t.same(Object.fromEntries([...printed].map(([, name, value]) => [name, value])), { ...sent, ...hidden });
  t.match(told.rules.get('openai-beta'), /^forwarded: /);
  t.notMatch(text, /sk-upstream|red$/m);
  const withBody = explained(own.configPath, ['--model', 'rt', '--endpoint', 'realtime', '--body', 'x']);
  await t.rejects(withBody, /a session has no body/);
});
