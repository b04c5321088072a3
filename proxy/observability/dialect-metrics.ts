// The metrics that dashboards of LiteLLM ask for, by their names there, beside our own: off unless configured, since each series is
// kept twice then. Labels are those of the dialect as far as their values are bounded here: names of the configuration, teams.
import type { Registry } from 'prom-client';
import { dollarsOf } from '../spend/record/cost.ts';
import type { SpendRecord } from '../spend/record/record.ts';
import type { LabelValues } from './label-values.ts';
import { talliedCounter, type LabelledHistogram, type Tally } from './tally.ts';
import { registeredHistogram, SECONDS } from './time-buckets.ts';

type Counting = (...values: string[]) => Tally;

const OF_CALLS = ['requested_model', 'model', 'team'] as const;

/** Registered when it is made. */
export class DialectMetrics {
  readonly #labels: LabelValues;
  readonly #calls: Readonly<Record<'total' | 'requests' | 'spend' | 'tokens' | 'input' | 'output', Counting>>;
  readonly #failed: Counting;
  readonly #deployments: Readonly<Record<'total' | 'success' | 'failure', Counting>>;
  readonly #times: Readonly<Record<'request' | 'upstream' | 'firstToken', LabelledHistogram>>;

  /** @param brand the names begin with it */
  constructor(registry: Registry, labels: LabelValues, brand: string) {
    this.#labels = labels;
    const counter = (name: string, help: string, names: readonly string[] = OF_CALLS): Counting =>
      talliedCounter(registry, `${brand}_${name}_total`, help, names, labels);
    const histogram = (name: string, help: string): LabelledHistogram =>
      registeredHistogram(registry, `${brand}_${name}`, help, 'model', SECONDS);
    const withStatus = (name: string): readonly string[] => [...OF_CALLS, name];
    this.#calls = {
      total: counter('proxy_total_requests_metric', 'Calls.', withStatus('status_code')),
      requests: counter('requests_metric', 'Calls.'),
      spend: counter('spend_metric', 'Cost, US dollars.'),
      tokens: counter('total_tokens_metric', 'Tokens.'),
      input: counter('input_tokens_metric', 'Tokens of prompts.'),
      output: counter('output_tokens_metric', 'Tokens of answers.'),
    };
    this.#failed = counter(
      'proxy_failed_requests_metric',
      'Calls that failed.',
      withStatus('exception_status'),
    );
    const deployed = [`${brand}_model_name`, 'model_id', 'api_base', 'api_provider'];
    this.#deployments = {
      total: counter('deployment_total_requests', 'Calls that went to a deployment.', deployed),
      success: counter('deployment_success_responses', 'Calls that it served.', deployed),
      failure: counter('deployment_failure_responses', 'Calls that failed there.', deployed),
    };
    this.#times = {
      request: histogram('request_total_latency_metric', 'Whole calls, seconds.'),
      upstream: histogram('llm_api_latency_metric', 'The same without the proxy itself, seconds.'),
      firstToken: histogram('llm_api_time_to_first_token_metric', 'To the first byte of streams, seconds.'),
    };
  }

  /** @param group `model_name` of the entry. @param overheadMs -1 = not known */
  observe(group: string, record: SpendRecord, overheadMs: number): void {
    const { tokens, spendPico, status, startMs, endMs, firstByteMs } = record;
    const own = [group, group, this.#labels.team(record.teamId)] as const;
    const http = String(record.httpStatus ?? '');
    this.#calls.total(...own, http).add(1);
    this.#calls.requests(...own).add(1);
    if (status === 'failure') this.#failed(...own, http).add(1);
    if (spendPico !== null) this.#calls.spend(...own).add(dollarsOf(spendPico));
    if (tokens.total !== null) this.#calls.tokens(...own).add(tokens.total);
    if (tokens.prompt !== null) this.#calls.input(...own).add(tokens.prompt);
    if (tokens.completion !== null) this.#calls.output(...own).add(tokens.completion);
    const seconds = (endMs - startMs) / 1000;
    this.#times.request.of(group).observe(seconds);
    if (overheadMs >= 0) this.#times.upstream.of(group).observe(Math.max(0, seconds - overheadMs / 1000));
    if (record.stream && firstByteMs !== null)
      this.#times.firstToken.of(group).observe((firstByteMs - startMs) / 1000);
    if (record.modelId === null || record.endReason === 'refused') return;
    if (!this.#labels.isDeployment(record.modelId)) return; // its series is gone
    const where = [group, record.modelId, record.apiBase ?? '', record.provider ?? ''] as const;
    this.#deployments.total(...where).add(1);
    if (record.errorSource !== 'client') this.#deployments[status](...where).add(1);
  }
}
