// Sums of spend over HTTP: tags, keys, users, reports and daily activity, over rows of three days that are known.
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import { NO_TOKENS } from '../../proxy/protocols/usage.ts';
import type { SpendRecord } from '../../proxy/spend/record/record.ts';
import { beginOf, settleOf } from '../proxy/spend/record/fixture/records.ts';
import { folder } from '../support/cli.ts';
import { leaveJournal } from '../support/journal.ts';
import { send, startRig, type Rig } from '../support/rig.ts';

const KEY_A = 'a'.repeat(64);
const KEY_B = 'b'.repeat(64);
const NOBODY = { teamId: null, userId: null, endUser: null } as const;
const RANGE = 'start_date=2025-10-01&end_date=2025-10-31';

/** Day of October 2025, who, and what it cost in pico-dollars. */
function row(n: number, day: number, more: Partial<SpendRecord>): SpendRecord {
  const startMs = Date.parse(`2025-10-${String(day).padStart(2, '0')}T12:00:00Z`) + n;
  const begin = beginOf(`row-${n}`, { ...NOBODY, startMs, tags: [], sessionId: `s-${n}` });
  const tokens = { ...NO_TOKENS, prompt: 10, completion: 5, total: 15, cacheRead: 4, cacheWrite: 2 };
  return { ...settleOf(begin, { tokens, endMs: startMs + 100 }), ...more };
}

const blue = { teamId: 'blue', userId: 'ann', apiKeyHash: KEY_A } as const;
const red = { teamId: 'red', userId: 'bob', apiKeyHash: KEY_B, endUser: 'carol' } as const;
const ROWS = [
  row(1, 1, { ...blue, spendPico: 100_000_000_000, tags: ['x'] }),
  row(2, 1, { ...blue, spendPico: 200_000_000_001, tags: ['x', 'y'], model: 'other', modelGroup: 'fast' }),
  row(3, 1, { ...red, spendPico: 300_000_000_000 }),
  row(4, 2, { ...red, spendPico: null, costSource: 'none', costReason: 'no price' }),
  row(5, 2, { ...red, spendPico: 0, status: 'failure', endReason: 'upstream_error' }),
  row(6, 9, { spendPico: 5_000_000_000_000, apiKeyHash: KEY_A, tags: ['y'] }),
];

const rigOf = async (t: Test): Promise<Rig> => {
  const dir = folder(t);
  leaveJournal(join(dir, 'data'), ROWS);
  return startRig(t, { folder: dir });
};

t.test('sums', async (t) => {
  const rig = await rigOf(t);
  const get = async (t: Test, path: string): Promise<unknown> => {
    const answer = await send(rig.url, 'GET', path);
    t.equal(answer.status, 200, `${path}: ${answer.text.slice(0, 300)}`);
    return JSON.parse(answer.text);
  };

  t.test('/spend/tags counts a call for each of its tags, the dearest first', async (t) => {
    t.strictSame(await get(t, '/spend/tags'), [
      { individual_request_tag: 'y', log_count: 2, total_spend: 5.200000000001 },
      { individual_request_tag: 'x', log_count: 2, total_spend: 0.300000000001 },
    ]);
    t.strictSame(await get(t, '/spend/tags?start_date=2025-10-01&end_date=2025-10-01&tags=x'), [
      { individual_request_tag: 'x', log_count: 2, total_spend: 0.300000000001 },
    ]);
    t.strictSame(await get(t, '/spend/tags?start_date=2024-01-01&end_date=2024-01-02'), []);
  });

  t.test('/spend/keys and /spend/users give who has spent', async (t) => {
    t.match(await get(t, '/spend/keys'), [
      { token: KEY_A, spend: 5.300000000001, requests: 3 },
      { token: KEY_B, spend: 0.3, requests: 3, total_tokens: 45 },
    ]);
    const users = [
      { user_id: 'ann', spend: 0.300000000001, max_budget: null, requests: 2, total_tokens: 30 },
      { user_id: 'bob', spend: 0.3, max_budget: null, requests: 3, total_tokens: 45 },
    ];
    t.strictSame(await get(t, '/spend/users'), users);
    t.strictSame(await get(t, '/spend/users?user_id=bob'), users.slice(1));
    t.strictSame(await get(t, '/spend/users?user_id=nobody'), []);
  });

  t.test('/global/spend/report splits days by team or customer, and the whole time by key', async (t) => {
    const red = { team_name: 'red', total_spend: 0.3 };
    t.match(await get(t, `/global/spend/report?${RANGE}`), [
      {
        group_by_day: '2025-10-01T00:00:00+00:00',
        teams: [
          { ...red, metadata: [{ model: 'gpt-4.1', api_key: KEY_B, spend: 0.3, total_tokens: 15 }] },
          {
            team_name: 'blue',
            total_spend: 0.300000000001,
            metadata: [
              { model: 'other', spend: 0.200000000001 },
              { model: 'gpt-4.1', spend: 0.1 },
            ],
          },
        ],
      },
      { group_by_day: '2025-10-02T00:00:00+00:00', teams: [{ team_name: 'red', total_spend: 0 }] },
      { teams: [{ team_name: 'Unassigned Team', total_spend: 5 }] },
    ]);
    t.match(await get(t, `/global/spend/report?${RANGE}&group_by=team&team_id=red`), [
      { teams: [red] },
      { teams: [{ team_name: 'red' }] },
    ]);
    t.match(await get(t, `/global/spend/report?${RANGE}&group_by=customer`), [
      {
        customers: [
          { customer: 'carol', total_spend: 0.3 },
          { customer: '', total_spend: 0.300000000001 },
        ],
      },
      { customers: [{ customer: 'carol' }] },
      { customers: [{ customer: '' }] },
    ]);
    t.match(await get(t, `/global/spend/report?${RANGE}&team_id=red&customer_id=carol`), [
      { teams_customers: [{ ...red, customer: 'carol' }] },
      { teams_customers: [{ team_name: 'red', customer: 'carol', total_spend: 0 }] },
    ]);
    const keyB = {
      api_key: KEY_B,
      total_cost: 0.3,
      total_input_tokens: 30,
      total_output_tokens: 15,
      model_details: [{ model: 'gpt-4.1', total_cost: 0.3, total_input_tokens: 30, total_output_tokens: 15 }],
    };
    t.match(await get(t, `/global/spend/report?${RANGE}&group_by=api_key`), [
      { api_key: KEY_A, total_cost: 5.300000000001 },
      keyB,
    ]);
    t.strictSame(await get(t, `/global/spend/report?${RANGE}&api_key=${KEY_B}`), [keyB]);
    t.strictSame(await get(t, `/global/spend/report?${RANGE}&internal_user_id=bob`), [keyB]);
  });

  t.test('/global/spend and its parts: the last 30 days, or those that are asked for', async (t) => {
    t.strictSame(await get(t, '/global/spend'), { spend: 0, max_budget: 0 });
    t.strictSame(await get(t, '/global/spend/logs'), [], 'the rows are older');
    t.strictSame(await get(t, `/global/spend?${RANGE}`), { spend: 5.600000000001, max_budget: 0 });
    const month = { spend: 0.600000000001, max_budget: 0 };
    t.strictSame(await get(t, '/global/spend?end_date=2025-10-02'), month, 'the 30 days before an end');
    t.strictSame(await get(t, `/global/spend/logs?${RANGE}`), [
      { date: '2025-10-01', spend: 0.600000000001 },
      { date: '2025-10-02', spend: 0 },
      { date: '2025-10-09', spend: 5 },
    ]);
    t.match(await get(t, `/global/spend/logs?${RANGE}&api_key=${KEY_A}`), [
      { spend: 0.300000000001 },
      { spend: 5 },
    ]);
    const keys = [
      { api_key: KEY_A, key_alias: null, key_name: null, total_spend: 5.300000000001 },
      { api_key: KEY_B, key_alias: null, key_name: null, total_spend: 0.3 },
    ];
    t.strictSame(await get(t, `/global/spend/keys?${RANGE}`), keys);
    t.strictSame(await get(t, `/global/spend/keys?${RANGE}&limit=1`), keys.slice(0, 1));
    t.strictSame(await get(t, `/global/spend/models?${RANGE}&limit=2`), [
      { model: 'gpt-4.1', total_spend: 5.4 },
      { model: 'other', total_spend: 0.200000000001 },
    ]);
    t.equal((await send(rig.url, 'GET', '/global/spend/keys?limit=0')).status, 400);
  });

  t.test('/spend/report is exact to the pico-dollar, and its total has every call once', async (t) => {
    const whole = {
      key: '',
      requests: 6,
      failures: 1,
      unpriced: 1,
      prompt_tokens: 60,
      completion_tokens: 30,
      total_tokens: 90,
      cache_read_tokens: 24,
      cache_creation_tokens: 12,
      reasoning_tokens: 0,
      spend: '5.600000000001',
    };
    t.match(await get(t, `/spend/report?by=tag&${RANGE}`), {
      by: 'tag',
      start_date: '2025-10-01',
      end_date: '2025-10-31',
      rows: [
        { key: 'y', spend: '5.200000000001' },
        { key: 'x', spend: '0.300000000001' },
      ],
      more: false,
      total: whole,
    });
    const keysBy = async (by: string): Promise<unknown[]> => {
      const report = (await get(t, `/spend/report?by=${by}`)) as {
        rows: { key: string }[];
        total: unknown;
      };
      t.strictSame(report.total, whole, by);
      return report.rows.map(({ key }) => key);
    };
    t.strictSame(await keysBy('day'), ['2025-10-01', '2025-10-02', '2025-10-09'], 'in their order');
    t.strictSame(await keysBy('team'), ['', 'blue', 'red']);
    t.strictSame(await keysBy('user'), ['', 'ann', 'bob']);
    t.strictSame(await keysBy('key'), [KEY_A, KEY_B]);
    t.strictSame(await keysBy('model'), ['gpt-4.1', 'other']);
    t.strictSame(await keysBy('model-group'), ['smart', 'fast']);
    t.strictSame(await keysBy('end-user'), ['', 'carol']);
    t.strictSame(await keysBy('provider'), ['litellm_proxy']);
    t.equal((await keysBy('session')).length, 6);
    t.match(await get(t, '/spend/report?by=team&limit=1'), { rows: [{ key: '' }], more: true });
    t.match(await get(t, '/spend/report?by=team&end_date=2020-01-01'), { rows: [], total: { requests: 0 } });
  });

  t.test('daily activity gives days, newest first, and splits that add up to them', async (t) => {
    const all = (await get(t, `/user/daily/activity?${RANGE}`)) as {
      results: { date: string; metrics: Record<string, number>; breakdown: Record<string, unknown> }[];
      metadata: Record<string, unknown>;
    };
    t.same(
      all.results.map(({ date }) => date),
      ['2025-10-09', '2025-10-02', '2025-10-01'],
    );
    t.strictSame(all.metadata, {
      total_spend: 5.600000000001,
      total_prompt_tokens: 60,
      total_completion_tokens: 30,
      total_tokens: 90,
      total_api_requests: 6,
      total_successful_requests: 5,
      total_failed_requests: 1,
      total_cache_read_input_tokens: 24,
      total_cache_creation_input_tokens: 12,
      page: 1,
      total_pages: 1,
      has_more: false,
    });
    t.strictSame(all.results[2]?.metrics, {
      spend: 0.600000000001,
      prompt_tokens: 30,
      completion_tokens: 15,
      cache_read_input_tokens: 12,
      cache_creation_input_tokens: 6,
      total_tokens: 45,
      successful_requests: 3,
      failed_requests: 0,
      api_requests: 3,
    });
    for (const { metrics, breakdown } of all.results) {
      for (const part of ['models', 'model_groups', 'providers', 'api_keys', 'entities']) {
        const parts = Object.values(breakdown[part] as Record<string, { metrics: Record<string, number> }>);
        const requests = parts.reduce((sum, one) => sum + (one.metrics['api_requests'] ?? 0), 0);
        t.equal(requests, metrics['api_requests'], part);
      }
    }
    t.match(all.results[2]?.breakdown, {
      mcp_servers: {},
      models: { other: { metrics: { spend: 0.200000000001 }, metadata: {} } },
      api_keys: { [KEY_A]: { metrics: { api_requests: 2 }, metadata: { key_alias: null } } },
      entities: { ann: { api_key_breakdown: { [KEY_A]: { metrics: { api_requests: 2 } } } }, bob: {} },
    });
    t.match(all.results[0]?.breakdown, { entities: { Unassigned: { metrics: { spend: 5 } } } });
  });

  t.test('daily activity is filtered and paged by days', async (t) => {
    const read = (query: string): Promise<unknown> => get(t, `/${query}`);
    t.match(await read(`user/daily/activity?${RANGE}&page_size=2&page=2`), {
      results: [{ date: '2025-10-01' }],
      metadata: { total_spend: 0.600000000001, page: 2, total_pages: 2, has_more: false },
    });
    t.match(await read(`user/daily/activity?${RANGE}&page_size=1`), {
      results: [{ date: '2025-10-09' }],
      metadata: { total_pages: 3, has_more: true },
    });
    t.match(await read(`user/daily/activity?${RANGE}&user_id=bob`), {
      metadata: { total_api_requests: 3, total_failed_requests: 1, total_spend: 0.3 },
    });
    t.match(await read(`team/daily/activity?${RANGE}&team_ids=red,blue`), {
      metadata: { total_api_requests: 5 },
    });
    t.match(await read(`user/daily/activity?${RANGE}&model=other&api_key=${KEY_A}`), {
      metadata: { total_api_requests: 1 },
    });
    t.match(await read(`tag/daily/activity?${RANGE}&tags=x`), {
      results: [{ breakdown: { entities: { x: { metrics: { spend: 0.300000000001 } } } } }],
      metadata: { total_api_requests: 2 },
    });
    t.match(await read(`tag/daily/activity?${RANGE}`), {
      results: [{ date: '2025-10-09' }, { date: '2025-10-01', metrics: { api_requests: 3 } }],
    });
    t.match(await read('team/daily/activity?start_date=2020-01-01&end_date=2020-01-01'), {
      results: [],
      metadata: { total_spend: 0, total_pages: 0, has_more: false },
    });
  });

  t.test('a wrong parameter is 400 and named; another method is 405; without a key 401', async (t) => {
    const required = 'Start date and end date are required. Send start_date and end_date as YYYY-MM-DD, UTC.';
    const cases: readonly (readonly [path: string, param: string, message: string | RegExp])[] = [
      ['/global/spend/report', 'start_date', required],
      [`/global/spend/report?${RANGE}&group_by=month`, 'group_by', /must be team, customer or api_key/],
      ['/user/daily/activity', 'start_date', required],
      ['/team/daily/activity?start_date=2025-10-01', 'start_date', required],
      [`/tag/daily/activity?${RANGE}&page=0`, 'page', /must be a number from 1/],
      [`/tag/daily/activity?${RANGE}&page_size=1001`, 'page_size', /must be a number from 1 to 1000/],
      [`/team/daily/activity?${RANGE}&exclude_team_ids=x`, 'exclude_team_ids', /is not supported/],
      [`/user/daily/activity?${RANGE}&timezone=480`, 'timezone', /is not supported: days are UTC/],
      ['/spend/report?by=day&timezone=60', 'timezone', /is not supported: days are UTC/],
      ['/spend/keys?timezone=60', 'timezone', /is not supported/],
      ['/spend/tags?exclude_tags=a', 'exclude_tags', /is not supported/],
      [`/global/spend/report?${RANGE}&timezone=60`, 'timezone', /is not supported/],
      ['/spend/tags?start_date=yesterday', 'start_date', /must be YYYY-MM-DD/],
      ['/spend/tags?start_date=2025-10-02&end_date=2025-10-01', 'end_date', /is before start_date/],
      ['/spend/keys?end_date=2025-10-01 10:00:00', 'end_date', /must be a day \(YYYY-MM-DD\)/],
      ['/spend/report', 'by', /must be one of session, user, team, tag, model, key, day/],
      ['/spend/report?by=day&limit=0', 'limit', /must be a number from 1 to 100000/],
    ];
    for (const [path, param, message] of cases) {
      const answer = await send(rig.url, 'GET', encodeURI(path));
      t.equal(answer.status, 400, path);
      t.match(JSON.parse(answer.text), { error: { message, param, code: 'invalid_parameter' } }, path);
      t.equal((await send(rig.url, 'POST', encodeURI(path), {})).status, 405, path);
      const stranger = { authorization: 'Bearer wrong' };
      t.equal((await send(rig.url, 'GET', encodeURI(path), undefined, stranger)).status, 401, path);
    }
  });
});

t.test('/spend/tags finds a tag with a comma where the parameter is repeated', async (t) => {
  const dir = folder(t);
  const rows = ['a,b', 'a', 'b', 'c'].map((tag, n) => row(n, 1, { spendPico: 1_000_000_000, tags: [tag] }));
  leaveJournal(join(dir, 'data'), rows);
  const rig = await startRig(t, { folder: dir });
  const found = async (query: string): Promise<string[]> => {
    const { text } = await send(rig.url, 'GET', `/spend/tags?${query}`);
    const sums = JSON.parse(text) as readonly { readonly individual_request_tag: string }[];
    return sums.map((one) => one.individual_request_tag).toSorted();
  };
  t.same(await found('tags=a,b'), ['a', 'b']);
  t.same(await found('tags=a,b&tags=c'), ['a,b', 'c']);
  t.same(await found('tags=a,b&tags='), ['a,b']);
});

t.test('/spend/calculate prices a call as its row would be, before and after', async (t) => {
  const rig = await startRig(t, {
    config: ({ url }) => `
model_list:
  - model_name: priced
    litellm_params:
      model: litellm_proxy/priced
      api_base: ${url}
      input_cost_per_token: 0.000003
      output_cost_per_token: 0.000015
      cache_read_input_token_cost: 0.0000003
      input_cost_per_token_priority: 0.000006
      output_cost_per_token_priority: 0.00003
  - model_name: unpriced
    litellm_params: { model: litellm_proxy/nobody-sells-this, api_base: "${url}" }
general_settings: { master_key: sk-test-master-key }
`,
  });
  const calculate = async (body: unknown): Promise<{ status: number; json: Record<string, unknown> }> => {
    const answer = await send(rig.url, 'POST', '/spend/calculate', body);
    return { status: answer.status, json: JSON.parse(answer.text) as Record<string, unknown> };
  };
  const usage = {
    prompt_tokens: 1000,
    completion_tokens: 200,
    total_tokens: 1200,
    prompt_tokens_details: { cached_tokens: 600 },
  };
  t.match(await calculate({ completion_response: { model: 'priced', usage } }), {
    status: 200,
    json: { cost: 0.00438, cost_source: 'entry', usage_source: 'upstream', prompt_tokens: 1000 },
  });
  for (const tier of [
    { speed: 'fast', service_tier: 'standard' },
    { service_tier: 'priority' },
    { trafficType: 'ON_DEMAND_PRIORITY' },
  ]) {
    const stated = { prompt_tokens: 1000, completion_tokens: 200, total_tokens: 1200, ...tier };
    const { json } = await calculate({ completion_response: { model: 'priced', usage: stated } });
    t.equal(json['cost'], 0.012, `in the tier that its usage states: ${JSON.stringify(tier)}`);
  }
  t.match(await calculate({ model: 'priced', completion_response: { model: 'dated-name', usage } }), {
    json: { cost: 0.00438 },
  });
  const messages = [{ role: 'user', content: 'one two three' }];
  const before = await calculate({ model: 'priced', messages });
  t.match(before, {
    status: 200,
    json: { usage_source: 'estimate', completion_tokens: 0, cost_source: 'entry' },
  });
  t.equal(before.json['cost'], Number((Number(before.json['prompt_tokens']) * 0.000003).toFixed(12)));
  t.match(await calculate({ completion_response: { model: 'gpt-4o', usage } }), {
    json: { cost_source: 'catalogue' },
  });
  t.same(await rig.rows(), [], 'no row is left');
  const cases: readonly (readonly [body: unknown, param: string, message: RegExp])[] = [
    [{}, 'model', /Either `model` with `messages`, or `completion_response`/],
    [{ model: 5, messages }, 'model', /must be a text/],
    [{ model: 'priced' }, 'messages', /must be given with `model`/],
    [{ completion_response: [] }, 'completion_response', /must be an object/],
    [{ completion_response: { usage } }, 'completion_response', /names no `model`/],
    [{ completion_response: { model: 'priced' } }, 'completion_response', /has no `usage`/],
    [{ model: 'unpriced', messages }, 'model', /not known: no price is known for model nobody-sells-this/],
    [{ model: 'no-such-model', messages }, 'model', /no price is known for model no-such-model/],
  ];
  for (const [body, param, message] of cases) {
    t.match(await calculate(body), { status: 400, json: { error: { param, message } } });
  }
  t.equal((await send(rig.url, 'GET', '/spend/calculate')).status, 405);
});
