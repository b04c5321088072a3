// What a span says and what it never says. What the SDK makes of it is tested end to end.
import t from 'tap';
import * as names from '../../../proxy/observability/gen-ai-names.ts';
import { spanCount, spansOf, spanSource, type SpanData } from '../../../proxy/observability/spans.ts';
import { interrupted, type SpendRecord } from '../../../proxy/spend/record/record.ts';
import { beginOf, settleOf } from '../spend/record/fixture/records.ts';

const trace = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), parentId: null, sampled: true };

function spans(more: Partial<SpendRecord> = {}, responseModel: string | null = null): SpanData[] {
  const record = settleOf(beginOf('call-1'), more);
  const all = spansOf(spanSource(record, trace, responseModel));
  t.equal(all.length, spanCount(record));
  return all;
}

t.test('names are those of the conventions', async (t) => {
  const incubating = (await import('@opentelemetry/semantic-conventions/incubating')) as Record<
    string,
    unknown
  >;
  for (const [name, value] of Object.entries(names)) {
    const key = value.startsWith('gen_ai.') ? `ATTR_GEN_AI_${name}` : `ATTR_${name}`;
    t.equal(value, incubating[key], key);
  }
});

t.test('a whole call, with all that is known of it', async (t) => {
  const [span] = spans(
    { tokens: { ...settleOf(beginOf('')).tokens, cacheWrite: 5, reasoning: 7 } },
    'gpt-4.1-x',
  );
  t.match(span, {
    name: 'chat gpt-4.1',
    spanId: trace.spanId,
    parentId: null,
    error: null,
    startMs: 1_760_000_000_000,
    endMs: 1_760_000_001_500,
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'gpt-4.1',
      'gen_ai.response.model': 'gpt-4.1-x',
      'gen_ai.response.time_to_first_chunk': 0.2,
      'gen_ai.usage.input_tokens': 100,
      'gen_ai.usage.output_tokens': 20,
      'gen_ai.usage.cache_read.input_tokens': 30,
      'gen_ai.usage.cache_creation.input_tokens': 5,
      'gen_ai.usage.reasoning.output_tokens': 7,
      'server.address': 'gateway.example',
      'server.port': 443,
      'throughline.team_id': 'blue',
      'throughline.model_group': 'smart',
    },
  });
});

t.test('keys, end users, addresses and metadata of callers are in no span', async (t) => {
  const text = JSON.stringify(spans());
  const { apiKeyHash, endUser, clientAddress } = beginOf('call-1');
  for (const secret of [apiKeyHash, endUser, clientAddress, 'naïve', 'sdk/1.0'])
    t.notOk(text.includes(String(secret)), String(secret));
});

t.test('each family of calls has the name of its operation', async (t) => {
  const named = (callType: string): string => spans({ callType })[0]?.name ?? '';
  t.equal(named('aresponses'), 'chat gpt-4.1');
  t.equal(named('anthropic_messages'), 'chat gpt-4.1');
  t.equal(named('atext_completion'), 'text_completion gpt-4.1');
  t.equal(named('aembedding'), 'embeddings gpt-4.1');
  t.equal(named('aimage_generation'), 'image_generation gpt-4.1');
});

t.test('what is not known is not said, cost least of all', async (t) => {
  const begin = { ...beginOf('call-1', { modelId: null, apiBase: null, model: '', tags: [] }), trace };
  const [span] = spansOf(spanSource(interrupted(begin, begin.startMs), trace, null));
  t.equal(span?.name, 'chat');
  t.equal(span?.error, 'interrupted');
  t.equal(span?.attributes['gen_ai.request.model'], 'smart', 'what the client asked for');
  const said = Object.keys(span?.attributes ?? {});
  for (const name of [
    'throughline.cost_usd',
    'throughline.tags',
    'server.address',
    'gen_ai.usage.input_tokens',
  ])
    t.notOk(said.includes(name), name);
  t.equal(spans({ spendPico: 1_234_000_000 })[0]?.attributes['throughline.cost_usd'], 0.001234);
});
