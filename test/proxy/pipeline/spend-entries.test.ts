import t from 'tap';
import type { Test } from 'tap';
import { FAULTS, type FaultCode } from '../../../proxy/errors/codes.ts';
import { Fault } from '../../../proxy/errors/fault.ts';
import type { Endpoint } from '../../../proxy/protocols/protocol.ts';
import { BY_ID, ENDPOINTS } from '../../../proxy/protocols/table.ts';
import type { SpendRecord } from '../../../proxy/spend/record/record.ts';
import { identityOf } from '../../../proxy/pipeline/identity.ts';
import { NO_BILLABLE_UNITS } from '../../../proxy/pipeline/billable-units.ts';
import { beginOf, settleFault, settleOf } from '../../../proxy/pipeline/spend-entries.ts';
import type { Outcome } from '../../../proxy/relay/outcome.ts';
import { NOTHING_READ } from '../../../proxy/relay/tap.ts';
import { exchangeOf, firstOf, servicesOf, liveOf } from '../../support/services.ts';

const MODELS = `
model_list:
  - model_name: m
    litellm_params: { model: litellm_proxy/up, api_base: "http://127.0.0.1:1", api_key: k, input_cost_per_token: 0.000001, output_cost_per_token: 0.000002 }
  - model_name: "star/*"
    litellm_params: { model: "openai/*", api_base: "http://127.0.0.1:1/v1", api_key: k }
`;

const CHAT = ENDPOINTS[0] as Endpoint;

const OUTCOME: Outcome = {
  end: 'complete',
  status: 200,
  fault: null,
  firstByteAt: null,
  upstreamMs: 1,
  responseBytes: 10,
  readOn: null,
  reading: { ...NOTHING_READ, usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } },
  upstreamCallId: null,
  upstreamCost: null,
  retryAfter: null,
  isStream: false,
  contentEncoding: null,
  unsent: null,
  finish: () => undefined,
};

interface Recorder {
  readonly settled: (outcome: Partial<Outcome>, model?: string, endpoint?: Endpoint) => SpendRecord;
  readonly faulted: (code: FaultCode, reached: boolean) => SpendRecord;
}

async function recorder(t: Test): Promise<Recorder> {
  const active = liveOf(t, MODELS, await servicesOf(t));
  const headers = { 'x-litellm-call-id': 'c'.repeat(1_000), 'user-agent': 'u'.repeat(1_000) };
  const { x } = await exchangeOf(t, active, { headers });
  const begin = (model: string): ReturnType<typeof beginOf> =>
    beginOf(x, {
      caller: { keyHash: 'hash' },
      endpoint: CHAT,
      model,
      identity: identityOf(x, { keyHash: 'hash' }),
      stream: false,
      requestBytes: 3,
      selected: model === '' ? null : firstOf(active, model),
    });
  return {
    settled: (outcome, model = 'm', endpoint = CHAT) =>
      settleOf(x, begin(model), {
        endpoint,
        selected: firstOf(active, model),
        outcome: { ...OUTCOME, ...outcome },
        protocol: endpoint.protocol,
        billable: NO_BILLABLE_UNITS,
        estimate: null,
      }),
    faulted: (code, reached) => settleFault(x, begin(reached ? 'm' : ''), new Fault(code, 'text'), reached),
  };
}

t.test('a begin says what is known, and texts that clients choose stay short', async (t) => {
  const { settled, faulted } = await recorder(t);
  const found = settled({});
  t.match(found, {
    model: 'up',
    modelGroup: 'm',
    provider: 'litellm_proxy',
    apiBase: 'http://127.0.0.1:1',
    apiKeyHash: 'hash',
  });
  t.match(found, { callType: 'acompletion', requestBytes: 3, clientAddress: '127.0.0.1' });
  t.same([found.clientCallId?.length, found.userAgent?.length], [512, 512]);
  t.match(faulted('missing_model', false), { model: '', modelId: null, provider: null, apiBase: null });
});

t.test('the end of an answer is success only when it is complete', async (t) => {
  const { settled } = await recorder(t);
  const fault = new Fault('stream_truncated', 'text');
  const cases: readonly (readonly [Partial<Outcome>, Partial<SpendRecord>])[] = [
    [{}, { status: 'success', endReason: 'complete', httpStatus: 200, errorCode: null, errorSource: null }],
    [
      { end: 'upstream_error', status: 429 },
      { status: 'failure', httpStatus: 429, errorCode: null, errorSource: 'upstream' },
    ],
    [
      { end: 'truncated', fault },
      { status: 'failure', errorCode: 'stream_truncated', errorSource: 'upstream' },
    ],
    [
      { end: 'client_gone', status: null },
      { status: 'failure', httpStatus: null, errorCode: 'client_gone', errorSource: 'client' },
    ],
  ];
  for (const [outcome, want] of cases) t.match(settled(outcome), want);
});

t.test('usage is priced whatever the end: tokens that were used were used', async (t) => {
  const { settled } = await recorder(t);
  for (const end of ['complete', 'truncated', 'client_gone', 'upstream_error'] as const) {
    t.match(settled({ end }), { spendPico: 20_000_000, costSource: 'entry', usageSource: 'upstream' });
  }
  t.match(settled({ end: 'upstream_error', reading: NOTHING_READ }), {
    spendPico: 0,
    costReason: '',
    usageSource: 'none',
  });
  t.match(settled({ reading: NOTHING_READ }), { spendPico: null, costReason: 'the upstream sent no usage' });
  t.match(settled({ upstreamCost: '0.5' }, 'star/nobody/knows'), {
    spendPico: 5e11,
    costSource: 'upstream_header',
  });
  t.match(settled({}, 'star/openai/gpt-4o'), {
    costSource: 'catalogue',
    spendPico: 75_000_000,
    model: 'openai/gpt-4o',
  });
  const retold = BY_ID[0]?.endpoint as Endpoint;
  t.match(
    settled({}, 'm', retold),
    { spendPico: 0, usage: null, usageSource: 'none' },
    'what is told again was billed before',
  );
  t.match(settled({}, 'star/nobody/knows'), {
    spendPico: null,
    costReason: /no price is known for model nobody\/knows/,
  });
});

t.test('every fault has its end, and costs nothing unless the upstream may have worked', async (t) => {
  const { faulted } = await recorder(t);
  const ends = new Map<string, Set<string>>();
  for (const code of Object.keys(FAULTS) as FaultCode[]) {
    const reached = FAULTS[code].source === 'upstream';
    const row = faulted(code, reached);
    t.match(row, {
      status: 'failure',
      errorCode: code,
      errorSource: FAULTS[code].source,
      attempts: reached ? 1 : 0,
    });
    t.equal(row.spendPico === null, row.costReason !== '', `${code}: unknown has a reason`);
    const end = ends.get(row.endReason) ?? new Set();
    ends.set(row.endReason, end.add(code));
  }
  const listed = (end: string): string[] => [...(ends.get(end) ?? [])].toSorted();
  t.same(listed('timeout'), [
    'client_timeout',
    'connect_timeout',
    'first_byte_timeout',
    'first_token_timeout',
    'idle_timeout',
    'total_timeout',
  ]);
  t.same(listed('upstream_broken'), [
    'bad_upstream_answer',
    'stream_broken',
    'stream_truncated',
    'upstream_broken',
    'upstream_unreachable',
  ]);
  t.same([listed('client_gone'), listed('proxy_error')], [['client_gone'], ['internal_error']]);
  t.equal(faulted('client_gone', false).httpStatus, null, 'it got no status');
  t.match(faulted('upstream_unreachable', true), { spendPico: 0 }, 'nothing was sent');
  t.match(faulted('first_byte_timeout', true), {
    spendPico: null,
    costReason: 'the upstream gave no answer',
  });
});
