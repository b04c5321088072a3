// A finished call in the log and in the metrics: who is told, how loudly, and that nothing else is said.
import t from 'tap';
import type { Test } from 'tap';
import { Fault, toFault } from '../../../proxy/errors/fault.ts';
import { openLog } from '../../../proxy/observability/logger.ts';
import { observeCall, type Observed } from '../../../proxy/pipeline/observe-call.ts';
import type { SpendRecord } from '../../../proxy/spend/record/record.ts';
import { beginOf, settleOf } from '../spend/record/fixture/records.ts';
import { exchangeOf, firstOf, liveOf, servicesOf } from '../../support/services.ts';

const CONFIG = `
model_list:
  - { model_name: m, litellm_params: { model: litellm_proxy/up, api_base: "http://127.0.0.1:1", api_key: k } }
`;

const NOTHING_OBSERVED: Observed = {
  selected: null,
  overheadMs: null,
  responseModel: null,
  protocol: null,
  fault: null,
};

async function watched(t: Test) {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string): void => void lines.push(JSON.parse(line) as Record<string, unknown>);
  const active = liveOf(t, CONFIG, { ...(await servicesOf(t)), log: openLog('info', { write }).log });
  const { x } = await exchangeOf(t, active);
  const observe = (record: SpendRecord, more: Partial<Observed> = {}): Record<string, unknown> => {
    observeCall(x, record, { ...NOTHING_OBSERVED, ...more }, null);
    return lines.at(-1) ?? {};
  };
  return { active, observe, metrics: () => active.services.metrics.scrape() };
}

const RECORD = settleOf(beginOf('id'));
const counted = (text: string, model: string): boolean =>
  new RegExp(`^throughline_requests_total\\{[^}]*model="${model}"[^}]*\\} 1$`, 'm').test(text);

t.test('a call that went well is one line of the access log', async (t) => {
  const { observe } = await watched(t);
  const { time, ...line } = observe(RECORD);
  t.match(time, /^\d{4}-/);
  t.same(line, {
    level: 30,
    call_id: 'id',
    call_type: 'acompletion',
    model: 'smart',
    model_id: 'deployment-1',
    upstream: 'https://gateway.example',
    protocol: null,
    status: 200,
    end: 'complete',
    ms: 1_500,
    first_byte_ms: 200,
    session: RECORD.sessionId,
    key: 'aaaaaaaaaaaa',
    team: 'blue',
    tokens: 120,
    attempts: 1,
    upstream_call_id: 'their-call',
    fault: null,
    error: null,
    why: null,
    msg: 'request',
  });
});

t.test('attempts are told of when there was more than one, a trace when there is one', async (t) => {
  const { observe } = await watched(t);
  const trace = {
    traceId: 'a'.repeat(32),
    spanId: 'b'.repeat(16),
    parentId: null,
    sampled: true,
    state: null,
  };
  const line = observe({ ...RECORD, attempts: 2, firstByteMs: null, trace: { ...RECORD.trace, ...trace } });
  t.match(line, { attempts: 2, trace_id: 'a'.repeat(32), first_byte_ms: null });
});

const failed = ({ code, source, message }: Fault): SpendRecord =>
  settleOf(beginOf('id'), { status: 'failure', errorCode: code, errorSource: source, errorText: message });

t.test('a bug is an error with its cause, an upstream’s failure a warning, our own an error', async (t) => {
  const { observe } = await watched(t);
  const bug = toFault(new TypeError('a bug'));
  const line = observe(failed(bug), { fault: bug });
  t.match(line, {
    level: 50,
    fault: 'proxy',
    error: 'internal_error',
    err: { type: 'TypeError', message: 'a bug' },
    msg: 'request',
  });
  const broken = new Fault('upstream_unreachable', 'The upstream cannot be reached.');
  const why = 'The upstream cannot be reached.';
  t.match(observe(failed(broken), { fault: broken }), { level: 40, fault: 'upstream', why });
  const full = new Fault('journal_unwritable', 'The disk is full.');
  t.match(observe(failed(full), { fault: full }), { level: 50, fault: 'proxy', why: 'The disk is full.' });
});

t.test('a mistake of the client is nobody’s warning, and its words are not in the log', async (t) => {
  const { observe } = await watched(t);
  const fault = new Fault('invalid_member', 'secret words of the client');
  const line = observe(failed(fault), { fault });
  t.match(line, { level: 30, fault: 'client', error: 'invalid_member', why: String });
  t.notMatch(JSON.stringify(line), /secret words/);
});

t.test('it is counted where it went; what went nowhere is counted as such', async (t) => {
  const { active, observe, metrics } = await watched(t);
  t.notOk(counted(await metrics(), 'm'));
  observe(RECORD, { selected: firstOf(active, 'm') });
  t.ok(counted(await metrics(), 'm'));
  t.notOk(counted(await metrics(), ''));
  observe(RECORD);
  t.ok(counted(await metrics(), ''));
});
