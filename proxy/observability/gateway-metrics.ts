// Metrics of the gateways behind the proxy, and of faults by side: what tells an outage of a gateway from one of ours.
import { Counter, type Registry } from 'prom-client';
import type { SpendRecord } from '../spend/record/record.ts';
import type { Failure } from './failure.ts';
import { OTHER, type LabelValues } from './label-values.ts';
import type { CallCounts } from './recent-calls.ts';
import { talliedCounter, Tally } from './tally.ts';
import { registeredHistogram, SECONDS } from './time-buckets.ts';

type CallTimes = Pick<CallCounts, 'duration' | 'firstByte' | 'overhead'>;

interface GatewayMetrics {
  /** Handles for a model at a gateway. @param times of the same two, for those who look at the last minutes */
  of(model: string, gateway: string, times: CallTimes): GatewayHandles;
  /** What was counted of each model at each gateway since the start. */
  counts(): Iterable<CallCounts>;
}

interface GatewayHandles {
  readonly observe: (record: SpendRecord, failure: Failure | null) => void;
}

interface Ends {
  readonly success: Tally;
  readonly failure: Tally;
}

/** Adds the metrics to a registry. */
export function addGatewayMetrics(registry: Registry, labels: LabelValues): GatewayMetrics {
  const faults = talliedCounter(
    registry,
    'throughline_faults_total',
    'Calls that failed, by the side at fault (client, proxy, upstream) and the reason.',
    ['model', 'gateway', 'side', 'reason'],
    labels,
  );
  const firstByte = registeredHistogram(
    registry,
    'throughline_gateway_first_byte_seconds',
    'From the head of the request to the first byte of the body of the response, by the gateway that gave it.',
    'gateway',
    SECONDS,
    (gateway) => labels.shows('gateway', gateway),
  );
  const gateways = new Map<string, Ends>();
  const endsOf = (gateway: string): Ends => {
    const ends = gateways.get(gateway) ?? { success: new Tally(), failure: new Tally() };
    gateways.set(gateway, ends);
    return ends;
  };
  // Handles of deployments go on counting in what is reset here.
  const forget = (host: string): void => {
    const ends = endsOf(host);
    ends.success.reset();
    ends.failure.reset();
    firstByte.of(host).reset();
  };
  labels.follow({
    fold: (label, hosts) => {
      if (label !== 'gateway') return;
      for (const host of hosts) {
        const { success, failure } = endsOf(host);
        endsOf(OTHER).success.add(success.value);
        endsOf(OTHER).failure.add(failure.value);
        firstByte.of(OTHER).add(firstByte.of(host));
        forget(host);
      }
    },
    forget: (label, hosts) => {
      if (label === 'gateway') hosts.forEach(forget);
    },
  });
  const name = 'throughline_gateway_requests_total';
  new Counter({
    name,
    help: 'Calls by the gateway to which they went last and by status; the gateway is empty for those that went nowhere.',
    labelNames: ['gateway', 'status'],
    registers: [registry],
    collect() {
      this.reset();
      // Both ends from the beginning: the first failure is an increase too.
      for (const [gateway, { success, failure }] of gateways) {
        if (!labels.shows('gateway', gateway)) continue;
        this.inc({ gateway, status: 'success' }, success.value);
        this.inc({ gateway, status: 'failure' }, failure.value);
      }
    },
  });
  const pairs = new Map<string, CallCounts>();
  return {
    counts: () => pairs.values(),
    of: (model, gateway, callTimes) => {
      const ends = endsOf(gateway);
      const times = firstByte.of(gateway);
      const pair = `${gateway} ${model}`;
      const none = { client: new Tally(), proxy: new Tally(), upstream: new Tally() };
      const { sides } = pairs.get(pair) ?? { sides: none };
      pairs.set(pair, { model, gateway, ...callTimes, sides });
      return {
        observe: (record, failure) => {
          ends[record.status].add(1);
          if (record.firstByteMs !== null && gateway !== '')
            times.observe((record.firstByteMs - record.startMs) / 1000);
          if (failure === null) return;
          faults(model, gateway, failure.side, failure.reason).add(1);
          sides[failure.side].add(1);
        },
      };
    },
  };
}
