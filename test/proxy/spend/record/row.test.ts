// The row answers in the dialect's names and holds no text of prompt or answer.
import t from 'tap';
import { interrupted } from '../../../../proxy/spend/record/record.ts';
import { NO_TOKENS } from '../../../../proxy/protocols/usage.ts';
import { rowOf } from '../../../../proxy/spend/record/row.ts';
import { beginOf, settleOf } from './fixture/records.ts';

t.test('a complete record becomes a row of the dialect with our columns after it', async (t) => {
  const row = rowOf(settleOf(beginOf('id-1')));
  t.same(row, {
    request_id: 'id-1',
    call_type: 'acompletion',
    api_key: 'a'.repeat(64),
    spend: 0.00125,
    total_tokens: 120,
    prompt_tokens: 100,
    completion_tokens: 20,
    startTime: '2025-10-09T08:53:20.000Z',
    endTime: '2025-10-09T08:53:21.500Z',
    completionStartTime: '2025-10-09T08:53:20.200Z',
    request_duration_ms: 1500,
    model: 'gpt-4.1',
    model_id: 'deployment-1',
    model_group: 'smart',
    custom_llm_provider: 'litellm_proxy',
    api_base: 'https://gateway.example',
    user: 'bob',
    metadata: {
      user_api_key: 'a'.repeat(64),
      user_api_key_alias: null,
      user_api_key_user_id: 'bob',
      user_api_key_team_id: 'blue',
      user_api_key_team_alias: null,
      user_api_key_org_id: null,
      spend_logs_metadata: { project: 'naïve "quoted"\n', nested: { requestId: 'not-the-id' } },
      requester_ip_address: '127.0.0.1',
      usage_object: {
        prompt_tokens: 100,
        completion_tokens: 20,
        total_tokens: 120,
        prompt_tokens_details: { cached_tokens: 30 },
      },
      additional_usage_values: { prompt_tokens_details: { cached_tokens: 30 } },
      status: 'success',
      error_information: null,
      warnings: [],
    },
    cache_hit: 'False',
    cache_key: 'Cache OFF',
    request_tags: ['team:blue', 'type:agent'],
    team_id: 'blue',
    organization_id: null,
    end_user: 'alice',
    requester_ip_address: '127.0.0.1',
    messages: {},
    response: {},
    proxy_server_request: {},
    session_id: '0f8fad5b-d9cb-469f-a165-70867728950e',
    status: 'success',
    mcp_namespaced_tool_name: null,
    upstream_id: 'chatcmpl-static-1',
    upstream_call_id: 'their-call',
    client_call_id: null,
    request_bytes: 1234,
    response_bytes: 4321,
    attempts: 1,
    attempt_log: [],
    end_reason: 'complete',
    http_status: 200,
    error_source: null,
    usage: {
      prompt_tokens: 100,
      completion_tokens: 20,
      total_tokens: 120,
      prompt_tokens_details: { cached_tokens: 30 },
    },
    usage_source: 'upstream',
    cache_read_tokens: 30,
    cache_creation_tokens: null,
    reasoning_tokens: null,
    token_buckets: {
      input: 70,
      cacheRead: 30,
      cacheWrite: 0,
      cacheWrite1h: 0,
      inputAudio: 0,
      inputImage: 0,
      output: 20,
      reasoning: 0,
      outputAudio: 0,
      outputImage: 0,
      unassigned: 0,
    },
    units: { searches: 1 },
    estimated_by: null,
    service_tier: 'priority',
    cost_source: 'entry',
    cost_by_source: { entry: 0.00125, catalogue: 0.001 },
    price_version: '0123456789ab',
    client: 'sdk',
    profile: 'default',
    cost_reason: '',
    stream: true,
    session_source: 'x-litellm-session-id',
    user_agent: 'sdk/1.0',
  });
});

t.test('the organization of a call stands where the dialect has it, too', async (t) => {
  const row = rowOf(settleOf(beginOf('id-1', { organizationId: 'acme' })));
  t.same([row.organization_id, row.metadata['user_api_key_org_id']], ['acme', 'acme']);
});

t.test('an unknown cost is null, never 0; unknown tokens are 0 and usage_source tells', async (t) => {
  const row = rowOf(interrupted(beginOf('id-2'), 1_760_000_001_000));
  t.equal(row.spend, null);
  t.equal(row.cost_reason, 'the process ended before the answer was complete');
  t.same([row.total_tokens, row.prompt_tokens, row.completion_tokens, row.usage_source], [0, 0, 0, 'none']);
  t.equal(row.completionStartTime, null);
  t.same(row.metadata['additional_usage_values'], {});
});

t.test('a failure tells its class and status, and a fault of ours its text', async (t) => {
  const failed = settleOf(beginOf('id-3'), {
    status: 'failure',
    endReason: 'upstream_error',
    httpStatus: 429,
    errorSource: 'upstream',
  });
  t.same(rowOf(failed).metadata['error_information'], {
    error_code: '429',
    error_class: 'upstream_error',
    llm_provider: 'litellm_proxy',
    error_message: '',
    traceback: '',
  });
  const information = rowOf({ ...failed, errorCode: 'upstream_timeout', httpStatus: null }).metadata[
    'error_information'
  ];
  t.match(information, { error_code: '', error_class: 'upstream_timeout' });
  t.match(rowOf({ ...failed, errorText: 'No such model.' }).metadata['error_information'], {
    error_message: 'No such model.',
  });
});

t.test(
  'counts of either family have columns of their own, and the rest of a usage is additional',
  async (t) => {
    const usage = {
      prompt_tokens: 1,
      completion_tokens: 2,
      total_tokens: 3,
      input_tokens: 1,
      output_tokens: 2,
      cache_read_input_tokens: 7,
    };
    const row = rowOf(settleOf(beginOf('id'), { usage }));
    t.same(row.metadata['additional_usage_values'], { cache_read_input_tokens: 7 });
    t.same(row.metadata['usage_object'], usage);
  },
);

t.test('a total that nobody stated is the sum of both', async (t) => {
  const tokensOf = (prompt: number | null, completion: number | null, total: number | null): number =>
    rowOf(settleOf(beginOf('id'), { tokens: { ...NO_TOKENS, prompt, completion, total } })).total_tokens;
  t.equal(tokensOf(3, 4, null), 7);
  t.equal(tokensOf(null, 4, null), 4);
  t.equal(tokensOf(3, null, null), 3);
  t.equal(tokensOf(3, 4, 9), 9);
});

t.test('what is not there is null, a user without an id is empty', async (t) => {
  const row = rowOf(settleOf(beginOf('id', { userId: null }), { units: null, firstByteMs: null }));
  t.equal(row.user, '');
  t.equal(row.units, null);
  t.equal(row.completionStartTime, null);
});

t.test('each attempt is told with what is known of it', async (t) => {
  const attempt = {
    modelId: 'deployment-1',
    model: 'gpt-4.1',
    apiBase: 'https://gateway.example',
    startMs: 1_760_000_000_000,
    durationMs: 12,
    status: 503,
    error: 'server',
    usage: null,
    spendPico: null,
  };
  const tokens = { ...NO_TOKENS, prompt: 5, completion: 1, total: 6 };
  const whole = { ...attempt, spendPico: 5_000_000_000, upstreamId: 'id-1', tokens, estimatedBy: 'o200k' };
  const row = rowOf(
    settleOf(beginOf('id'), { attemptLog: [attempt, { ...whole, continued: true, usage: { a: 1 } }] }),
  );
  const told = {
    model_id: 'deployment-1',
    model: 'gpt-4.1',
    api_base: 'https://gateway.example',
    start: '2025-10-09T08:53:20.000Z',
    duration_ms: 12,
    status: 503,
    error: 'server',
    usage: null,
    spend: null,
  };
  t.same(row.attempt_log, [
    told,
    {
      ...told,
      usage: { a: 1 },
      spend: 0.005,
      continued: true,
      upstream_id: 'id-1',
      total_tokens: 6,
      estimated_by: 'o200k',
    },
  ]);
});

t.test('times of a clock that was far off stay within four digits of years', async (t) => {
  const startOf = (startMs: number): string => rowOf(settleOf(beginOf('id', { startMs }))).startTime;
  t.equal(startOf(-1e15), '0001-01-01T00:00:00.000Z', 'as exports have it');
  t.equal(startOf(1e15), '9999-12-31T23:59:59.999Z');
  t.equal(startOf(8.64e15 + 1), '9999-12-31T23:59:59.999Z');
});
