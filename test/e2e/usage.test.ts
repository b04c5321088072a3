// What a row says of usage, cost and attribution in the cases that are not the ordinary one: no usage, an answer that
// was broken off, sources that disagree, gateway keys of teams, gateways of other families, and hostile input.
import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import t from 'tap';
import { openCall, startUpstream } from '../support/call.ts';
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
  type Row,
} from '../support/rig.ts';

const PRICES = 'input_cost_per_token: 0.000001, output_cost_per_token: 0.00001';
const rig = await startRig(t, {
  config: (demo) => {
    const entry = (name: string, model: string, more = '', info = ''): string => `
  - model_name: "${name}"
    litellm_params: { model: "${model}", api_base: "${demo.url}${model.startsWith('openai/') ? '/compat/v1' : ''}", api_key: k, ${more} }
    ${info === '' ? '' : `model_info: { ${info} }`}`;
    return `
model_list:${entry('demo-*', 'litellm_proxy/demo-*', PRICES)}${entry('wrong-price', 'litellm_proxy/demo-cost', 'input_cost_per_token: 1, output_cost_per_token: 1')}${entry('blue', 'litellm_proxy/demo', '', 'team_id: blue, user_id: bob, profile: coder, tags: [costcenter:42, shared]')}${entry('bifrost', 'openai/openai/demo', 'gateway: bifrost')}${entry('portkey', 'openai/openai/demo', 'gateway: portkey')}${entry('mute', 'litellm_proxy/demo', 'gateway: none')}
general_settings: { master_key: ${KEY}, forward_client_headers_to_llm_api: true }
litellm_settings: { include_cost_in_streaming_usage: true }
`;
  },
});

interface Priced {
  readonly usage?: { readonly cost?: number } | null;
}

const warnings = (row: Row): readonly string[] => (row['metadata'] as { warnings: string[] }).warnings;

t.test('an answer without usage is counted here, and its row says so', async (t) => {
  const words = 'The quick brown fox jumps over the lazy dog. '.repeat(10);
  const calls: readonly (readonly [string, object])[] = [
    ['/v1/chat/completions', { messages: [{ role: 'user', content: words }] }],
    ['/v1/completions', { prompt: words }],
    ['/v1/responses', { input: words }],
    ['/v1/messages', { max_tokens: 50, messages: [{ role: 'user', content: words }] }],
  ];
  for (const [path, ask] of calls) {
    for (const stream of [false, true]) {
      const answer = await send(rig.url, 'POST', path, { model: 'demo-no-usage-no-cost', stream, ...ask });
      t.equal(answer.status, 200, answer.text);
      const row = await rowOf(rig, answer);
      t.match(row, {
        status: 'success',
        usage: null,
        usage_source: 'estimate',
        estimated_by: 'o200k_base',
        cost_source: 'entry',
      });
      const [prompt, completion] = [Number(row['prompt_tokens']), Number(row['completion_tokens'])];
      t.ok(prompt >= 100 && prompt <= 110, `${path} ${prompt}`);
      t.ok(completion > 0 && completion < 200, `${path} ${completion}`);
      t.equal(row['spend'], Number((prompt * 1e-6 + completion * 1e-5).toFixed(12)));
    }
  }
  const embedded = await send(rig.url, 'POST', '/v1/embeddings', {
    model: 'demo-no-usage-no-cost',
    input: ' dog dog',
  });
  t.match(await rowOf(rig, embedded), { usage_source: 'estimate', prompt_tokens: 2, completion_tokens: 0 });
  const lists = [
    [1, 2, 3],
    [4, 5],
  ];
  for (const [path, ask] of [
    ['/v1/embeddings', { input: lists }],
    ['/v1/completions', { prompt: lists }],
  ] as const) {
    const answer = await send(rig.url, 'POST', path, { model: 'demo-no-usage-no-cost', ...ask });
    t.match(
      await rowOf(rig, answer),
      { usage_source: 'estimate', prompt_tokens: 5 },
      `lists of tokens, ${path}`,
    );
  }
});

t.test(
  'a usage of zeros beside an answer is none: the answer is estimated, and its row says why',
  async (t) => {
    const words = ' dog'.repeat(300);
    interface Ask {
      readonly content: string;
      readonly usage: object;
      readonly stream: boolean;
    }
    const url = await startUpstream(t, ({ res, body }) => {
      const { content, usage, stream } = JSON.parse(body.toString()) as Ask;
      const of = (part: object, finish: string | null): object => ({
        index: 0,
        ...part,
        finish_reason: finish,
      });
      if (!stream) {
        res.writeHead(200, { 'content-type': 'application/json' });
        const choices = [of({ message: { role: 'assistant', content } }, 'stop')];
        return void res.end(JSON.stringify({ id: 'c', model: 'm', choices, usage }));
      }
      const events = [
        { choices: [of({ delta: { role: 'assistant', content } }, null)] },
        { choices: [of({ delta: {} }, 'stop')] },
        { choices: [], usage },
      ].map((event) => `data: ${JSON.stringify({ id: 'c', model: 'm', ...event })}\n\n`);
      res.writeHead(200, { 'content-type': 'text/event-stream' }).end(`${events.join('')}data: [DONE]\n\n`);
    });
    const zeros = await startRig(t, {
      config: () => `
model_list: [{ model_name: m, litellm_params: { model: litellm_proxy/m, api_base: "${url}", ${PRICES} } }]
general_settings: { master_key: ${KEY} }
litellm_settings: { include_cost_in_streaming_usage: true }
`,
    });
    const [prompt, answer] = [/0 tokens for a prompt/, /0 tokens for an answer that has text/];
    for (const stream of [false, true]) {
      const ask = async (usage: object, content: string): Promise<{ row: Row; text: string }> => {
        const options = { stream, usage, content, stream_options: { include_usage: true } };
        const sent = await chat(zeros, 'm', stream ? options : { stream, usage, content });
        return { row: await rowOf(zeros, sent), text: sent.text };
      };
      const all = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
      const none = await ask(all, words);
      t.match(none.row, { usage_source: 'estimate', completion_tokens: 300, usage: all });
      t.ok(Number(none.row['prompt_tokens']) > 0 && Number(none.row['spend']) > 0.003);
      t.match(warnings(none.row), [prompt, answer]);
      t.notMatch(none.text, '"cost"', 'the stream does not say that it was free');
      const half = await ask({ prompt_tokens: 10, completion_tokens: 0, total_tokens: 10 }, words);
      t.match(half.row, {
        usage_source: 'estimate',
        prompt_tokens: 10,
        completion_tokens: 300,
        spend: 0.00301,
      });
      t.match(warnings(half.row), [answer]);
      t.equal(warnings(half.row).length, 1);
      const other = await ask({ prompt_tokens: 0, completion_tokens: 7, total_tokens: 7 }, words);
      t.match(other.row, { usage_source: 'estimate', completion_tokens: 7 }, 'what was counted stands');
      t.match(warnings(other.row), [prompt]);
      const empty = await ask({ prompt_tokens: 10, completion_tokens: 0, total_tokens: 10 }, '');
      t.match(empty.row, { usage_source: 'upstream', completion_tokens: 0, spend: 0.00001 });
      t.same(warnings(empty.row), []);
    }
  },
);

t.test('a large answer without usage is counted by its beginning', async (t) => {
  const url = await startUpstream(t, ({ res }) => {
    const choices = [
      { index: 0, message: { role: 'assistant', content: ' dog'.repeat(100_000) }, finish_reason: 'stop' },
    ];
    res
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ id: 'c', model: 'm', choices }));
  });
  const { url: large, rows } = await startRig(t, {
    config: () => `
model_list: [{ model_name: m, litellm_params: { model: litellm_proxy/m, api_base: "${url}" } }]
general_settings: { master_key: ${KEY} }
`,
  });
  const answer = await send(large, 'POST', '/v1/chat/completions', {
    model: 'm',
    messages: [{ role: 'user', content: 'hi' }],
  });
  t.equal(answer.status, 200);
  const [row] = await rows();
  t.match(row, { usage_source: 'estimate', estimated_by: 'o200k_base' });
  const completion = Number(row?.['completion_tokens']);
  t.ok(completion > 99_000 && completion < 101_000, String(completion));
});

t.test('a stream that is broken off is counted for what was delivered', async (t) => {
  const leaveIn = async (path: string, ask: object, part: string): Promise<Row> => {
    const call = openCall(rig.url, path, { model: 'demo-stall-no-cost', stream: true, ...ask });
    const { headers } = await call.head;
    await call.received(part);
    call.leave();
    const id = headers['x-litellm-call-id'];
    await rig.logged((line) => line['call_id'] === id && line['msg'] === 'request');
    return rowOf(rig, { headers });
  };
  const messages = [{ role: 'user', content: 'one two three' }];
  const chatted = await leaveIn('/v1/chat/completions', { messages }, '"content"');
  t.match(chatted, {
    end_reason: 'client_gone',
    usage_source: 'estimate',
    cost_source: 'entry',
    usage: null,
  });
  t.ok(Number(chatted['completion_tokens']) > 0 && Number(chatted['spend']) > 0);
  const message = await leaveIn('/v1/messages', { max_tokens: 9, messages }, 'text_delta');
  t.match(message, { end_reason: 'client_gone', usage_source: 'estimate', usage: { input_tokens: Number } });
  const stated = message['usage'] as { input_tokens: number; output_tokens: number };
  t.equal(message['prompt_tokens'], stated.input_tokens, 'what the upstream stated stands');
  t.ok(Number(message['completion_tokens']) >= stated.output_tokens);
});

t.test('sources that disagree are all kept, and the distance is counted', async (t) => {
  const row = await rowOf(rig, await chat(rig, 'wrong-price'));
  const tokens = Number(row['total_tokens']);
  t.match(row, {
    spend: tokens,
    cost_source: 'entry',
    cost_by_source: { entry: tokens, upstream_header: 0.00125 },
    price_version: /^[0-9a-f]{12}$/,
  });
  const { text } = await send(rig.url, 'GET', '/metrics');
  t.match(text, 'throughline_cost_differs_total{model="wrong-price",source="upstream_header"} 1');
  t.match(text, /throughline_cost_difference_usd_total\{model="wrong-price",source="upstream_header"\} \d/);
  t.match(text, /throughline_usage_estimated_total\{model="demo-\*"\} \d/);
});

t.test('a stream tells its cost in its usage when that is configured, the same as its row', async (t) => {
  const messages = [{ role: 'user', content: 'one two three' }];
  const costIn = (answer: Answer): unknown => {
    const events = answer.text.split('\n').filter((line) => line.startsWith('data: {'));
    const usages = events.map((line) => {
      const event = JSON.parse(line.slice(6)) as { response?: Priced } & Priced;
      return event.response?.usage ?? event.usage;
    });
    return usages.findLast((one) => one?.cost !== undefined)?.cost;
  };
  const asks: readonly (readonly [string, object])[] = [
    ['/v1/chat/completions', { messages, stream_options: { include_usage: true } }],
    ['/v1/responses', { input: 'one two three' }],
    ['/v1/messages', { max_tokens: 50, messages }],
  ];
  for (const [path, ask] of asks) {
    const answer = await send(rig.url, 'POST', path, { model: 'demo-no-cost', stream: true, ...ask });
    const row = await rowOf(rig, answer);
    t.ok(Number(row['spend']) > 0);
    t.equal(costIn(answer), row['spend'], path);
  }
  t.equal(
    costIn(await chat(rig, 'demo-no-cost', { stream: true })),
    undefined,
    'who gets no usage gets no cost',
  );
});

t.test("an entry's team, owner, profile and tags are in its rows, and its tags go along", async (t) => {
  const headers = { 'user-agent': 'claude-cli/1.0.2 (external, cli)', 'x-litellm-tags': 'own,shared' };
  const row = await rowOf(rig, await chat(rig, 'blue', { user: 'ann' }, headers));
  t.match(row, {
    team_id: 'blue',
    user: 'bob',
    end_user: 'ann',
    profile: 'coder',
    client: 'claude-cli',
    metadata: { user_api_key_team_id: 'blue', user_api_key_user_id: 'bob' },
  });
  t.same(row['request_tags'], ['costcenter:42', 'shared', 'own']);
  const { rawHeaders } = lastSeen(rig);
  t.equal(headerOf(rawHeaders, 'x-litellm-tags'), 'costcenter:42,shared,own');
  t.equal(headerOf(rawHeaders, 'x-litellm-end-user-id'), 'ann');
});

t.test('each gateway is told in its own words, and a client cannot speak over them', async (t) => {
  const more = { user: 'ann', metadata: { tags: ['team:blue'], spend_logs_metadata: { run: 7 } } };
  const seenBy = async (
    rig: Rig,
    model: string,
    headers: Record<string, string>,
  ): Promise<readonly string[]> => {
    t.equal((await chat(rig, model, more, { 'x-litellm-session-id': 'conv-1', ...headers })).status, 200);
    return lastSeen(rig).rawHeaders;
  };
  const bifrost = await seenBy(rig, 'bifrost', {
    'x-bf-session-id': 'forged',
    'x-bf-dim-team': 'red',
    'x-kept': '1',
  });
  t.match(
    ['x-bf-session-id', 'x-bf-lh-user', 'x-bf-dim-team', 'x-bf-dim-run', 'x-kept'].map((one) =>
      headerOf(bifrost, one),
    ),
    ['conv-1', 'ann', 'blue', '7', '1'],
  );
  t.equal(headerOf(bifrost, 'x-litellm-session-id'), undefined);
  const portkey = await seenBy(rig, 'portkey', {});
  t.equal(headerOf(portkey, 'x-portkey-trace-id'), 'conv-1');
  t.same(JSON.parse(headerOf(portkey, 'x-portkey-metadata') ?? ''), {
    run: '7',
    tags: 'team:blue',
    _user: 'ann',
  });
  const mute = await seenBy(rig, 'mute', {});
  t.equal(headerOf(mute, 'x-litellm-session-id'), undefined);
});

t.test('what hostile clients say of themselves is bounded, mended, and told', async (t) => {
  const long = 'x'.repeat(10_000);
  const row = await rowOf(
    rig,
    await chat(rig, 'demo-x', {
      user: `nul\0and\ud800${long}`,
      tags: [long, 'a\0b', ...Array.from({ length: 5_000 }, (_, i) => `t${i}`)],
      metadata: { session_id: long, spend_logs_metadata: { a: '\0', ['k\udfff']: 1 } },
    }),
  );
  t.match(row, { end_user: `nul\ufffdand\ufffd${'x'.repeat(256 - 8)}`, session_source: 'generated' });
  t.same((row['metadata'] as Row)['spend_logs_metadata'], { a: '\ufffd', 'k\ufffd': 1 });
  t.equal((row['request_tags'] as string[]).length, 100);
  t.match(warnings(row), [
    /session id of body.metadata/,
    /end user was cut/,
    /tags were cut/,
    /4902 tags over the limit/,
  ]);
  const big = await rowOf(
    rig,
    await chat(rig, 'demo-x', { metadata: { spend_logs_metadata: { padding: 'x'.repeat(20_000) } } }),
  );
  t.equal((big['metadata'] as Row)['spend_logs_metadata'], null);
  t.match(warnings(big), [/spend metadata is longer than 16384 characters/]);
  const dashed = '0B0E4B7E-6f6c-4b0c-9d6e-2f1a5c3d7e90';
  await chat(rig, 'demo-x', { metadata: { session_id: dashed } });
  await chat(rig, 'demo-x', { metadata: { session_id: dashed.replaceAll('-', '').toLowerCase() } });
  const { text } = await send(rig.url, 'GET', `/spend/logs/session/ui?session_id=${dashed}`);
  t.equal((JSON.parse(text) as { data: unknown[] }).data.length, 2, 'dashed and undashed are one');
});

t.test('the count of missing usage can be switched off', async (t) => {
  const off = await startRig(t, {
    config: (demo) => `
model_list:
  - model_name: m
    litellm_params: { model: litellm_proxy/demo-no-usage-no-cost, api_base: "${demo.url}", api_key: k, ${PRICES} }
general_settings: { master_key: ${KEY}, estimate_missing_usage: false }
`,
  });
  for (const stream of [false, true]) {
    t.match(await rowOf(off, await chat(off, 'm', { stream })), {
      usage_source: 'none',
      estimated_by: null,
      spend: null,
      cost_reason: 'the upstream sent no usage',
    });
  }
});

t.test(
  'the usage of a large compressed answer is read; of one beyond what is read the row says so',
  async (t) => {
    const usage = { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 };
    const answers = [
      randomBytes(4_500_000).toString('base64'),
      'x'.repeat(20_000_000),
      'x'.repeat(68_000_000),
    ].map((content) =>
      gzipSync(JSON.stringify({ choices: [{ message: { content } }], usage }), { level: 1 }),
    );
    let calls = 0;
    const url = await startUpstream(t, ({ res }) => {
      res.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
      res.end(answers[calls]);
      calls += 1;
    });
    const zipped = await startRig(t, { config: (demo) => defaultConfig({ ...demo, url }) });
    for (const expected of [
      { usage_source: 'upstream', total_tokens: 12 },
      { usage_source: 'upstream', total_tokens: 12 },
      { usage_source: 'estimate', metadata: { warnings: [/larger than what is read/] } },
    ]) {
      const answer = await chat(zipped, 'demo');
      t.match(await rowOf(zipped, answer), { end_reason: 'complete', ...expected });
    }
  },
);
