// One run of the doctor: machine, configuration, data, the running proxy, then all gateways at once, and calls if they were
// asked for. Reads only, but for the calls. Bounded: each question has a limit, and so has the run.
import type { Secret } from '../../config/secret.ts';
import type { Snapshot } from '../../config/snapshot.ts';
import { asError } from '../base/as-error.ts';
import { proxyFor } from '../upstream/http-proxies.ts';
import type { Pools } from '../upstream/pools.ts';
import { bounded, TookTooLong } from './bounded.ts';
import { checkCalls, timeCalls, whyNoCall } from './calls.ts';
import { checkConfiguration } from './configuration.ts';
import { checkCounters } from './counters.ts';
import { checkData } from './data.ts';
import { checkEcho } from './echo.ts';
import { entriesOf, type Entry, type Inspected } from './entries.ts';
import { Reporter, type Area, type Outcome } from './finding.ts';
import { checkGateway, UNUSABLE, type GatewayFound } from './gateway.ts';
import { GatewayClient, groupsOf, namesOf, type GatewayGroup } from './gateway-group.ts';
import { checkMachine, type MachineFacts } from './machine.ts';
import { checkNetwork } from './network.ts';
import { Redactor } from './redact.ts';
import { reportOf, type Report } from './report.ts';
import { checkProxy, ProxyClient } from './running-proxy.ts';

interface DoctorClock {
  /** Epoch ms. */
  readonly now: () => number;
  readonly mono: () => number;
}

export interface DoctorOptions {
  readonly version: string;
  readonly areas: ReadonlySet<Area>;
  readonly machine: MachineFacts;
  /** null = no configuration was named. */
  readonly inspected: Inspected | null;
  /** For people; a path. */
  readonly configName: string;
  readonly graceSeconds: number | null;
  /** null = it is not looked at, because of `why`. */
  readonly data: { readonly dir: string } | { readonly why: string };
  readonly proxy: ProxyPlace | { readonly why: string };
  /** Names of entries to look at; empty = all. */
  readonly models: readonly string[];
  /** Those of the proxy, or made for this run; they stay open. */
  readonly pools: Pools;
  readonly send: SendMode;
  /** With calls: also what the proxy adds, by more of them for one entry of each gateway. */
  readonly latency: boolean;
  /** How long a stream of the proxy is to be silent; null = not tried. */
  readonly idleProbeS: number | null;
  readonly timeoutMs: number;
  readonly callTimeoutMs: number;
  readonly muted: ReadonlySet<string>;
  readonly clock: DoctorClock;
  /** Asks the running proxy for more, where there is no configuration; a text says why there is none. */
  readonly more: ((client: ProxyClient) => Promise<readonly Outcome[] | string>) | null;
  readonly onOutcome: (outcome: Outcome) => void;
  /** Told before a gateway is asked, for progress. */
  readonly onGateway: (subject: string) => void;
}

/** Calls that cost money. `through`: through the proxy alone, where each gets its spend row. */
export type SendMode = 'never' | 'through' | 'both';

interface ProxyPlace {
  readonly url: URL;
  readonly key: Secret | null;
  readonly isNamed: boolean;
}

/** An entry with mock_response calls nobody. */
const isCalled = ({ deployment }: Entry): boolean => deployment.mock === null;
/** Gateways at once; more would be many connections of one process. */
const MOST_GATEWAYS = 16;
/** Of one gateway, all its questions but calls. */
const GATEWAY_QUESTIONS = 8;
/** Clocks of several gateways that all differ by nearly the same: it is ours. */
const SAME_MS = 10_000;
const SKEW_MS = 30_000;

export async function runDoctor(options: DoctorOptions): Promise<Report> {
  return new Run(options).whole();
}

class Run {
  readonly #options: DoctorOptions;
  readonly #outcomes: Outcome[] = [];
  readonly #redactor: Redactor;
  readonly #pools: Pools;
  readonly #skews: number[] = [];
  #perOrigin: ReadonlyMap<string, readonly Entry[]> = new Map();
  readonly #networks = new Map<string, Promise<boolean>>();

  constructor(options: DoctorOptions) {
    this.#options = options;
    const key = 'url' in options.proxy ? options.proxy.key : null;
    this.#redactor = new Redactor([
      ...secretsOf(options.inspected?.snapshot ?? null),
      ...(key === null ? [] : [key]),
    ]);
    this.#pools = options.pools;
  }

  async whole(): Promise<Report> {
    const { version, clock, muted } = this.#options;
    await this.#here();
    const proxy = await this.#proxy();
    try {
      await this.#gateways(proxy);
    } finally {
      proxy?.close();
    }
    return reportOf(this.#outcomes, { version, atMs: clock.now(), muted });
  }

  #reporter(area: Area, subject: string): Reporter {
    return new Reporter(area, subject, (outcome) => this.#take(outcome));
  }

  #take(outcome: Outcome): void {
    const clean = this.#redactor.outcome(outcome);
    this.#outcomes.push(clean);
    this.#options.onOutcome(clean);
  }

  /** What needs no gateway. */
  async #here(): Promise<void> {
    const { areas, machine, inspected, configName, graceSeconds, data, timeoutMs } = this.#options;
    if (areas.has('machine')) checkMachine(machine, this.#reporter('machine', 'this machine'));
    // What cannot be served is said in any case: the rest of the run has less to look at.
    if (areas.has('configuration') || inspected?.isServed === false) {
      const report = this.#reporter('configuration', configName);
      if (inspected === null) report.skipped('check', 'no configuration is named: give --config FILE');
      else checkConfiguration(inspected, graceSeconds, report);
    }
    if (!areas.has('data')) return;
    const valkey = inspected?.snapshot?.valkey ?? null;
    if (valkey !== null)
      await checkCounters(valkey, timeoutMs, this.#reporter('data', 'the shared counters'));
    if ('why' in data) return this.#reporter('data', 'data directory').skipped('data', data.why);
    const database = inspected?.snapshot?.database ?? null;
    await checkData({ dataDir: data.dir, database, timeoutMs }, this.#reporter('data', data.dir));
  }

  /** The running proxy, when calls can go through it. */
  async #proxy(): Promise<ProxyClient | null> {
    const { areas, proxy, inspected, timeoutMs, clock } = this.#options;
    if ('why' in proxy) {
      if (areas.has('proxy')) this.#reporter('proxy', 'the proxy').skipped('proxy', proxy.why);
      return null;
    }
    if (!areas.has('proxy') && !areas.has('call')) return null;
    const why = this.#badProxy(proxy.url.origin);
    if (why !== null) {
      this.#reporter('proxy', proxy.url.origin).found('outgoing proxy', 'TL-1404', { seen: why });
      return null;
    }
    const brand = inspected?.snapshot?.dialect.brand ?? 'litellm';
    const client = new ProxyClient(proxy.url, proxy.key, brand, this.#pools, clock.mono);
    const snapshot = inspected?.isServed === true ? inspected.snapshot : null;
    const { idleProbeS } = this.#options;
    const question = { timeoutMs, isNamed: proxy.isNamed, snapshot, idleProbeS };
    const serves = await checkProxy(client, question, this.#reporter('proxy', client.shown));
    if (serves) return client;
    client.close();
    return null;
  }

  async #gateways(proxy: ProxyClient | null): Promise<void> {
    const { areas, inspected } = this.#options;
    if (!areas.has('gateway') && !areas.has('call')) return;
    if (inspected === null && proxy !== null && this.#options.more !== null) {
      const more = await this.#options.more(proxy);
      if (typeof more === 'string') return this.#reporter('gateway', 'gateways').skipped('gateways', more);
      for (const outcome of more) this.#take(outcome);
      return;
    }
    if (inspected === null || inspected.snapshot === null) {
      const why =
        inspected === null ? 'no configuration is named' : 'the configuration cannot be read far enough';
      return this.#reporter('gateway', 'gateways').skipped('gateways', why);
    }
    if (inspected.leftOut > 0)
      this.#reporter('gateway', 'gateways').skipped(
        'entries',
        `${inspected.leftOut} entries of the configuration are broken`,
      );
    const entries = this.#chosen(entriesOf(inspected.snapshot, inspected.source).filter(isCalled));
    const groups = groupsOf(entries);
    this.#perOrigin = Map.groupBy(entries, ({ deployment }) => deployment.origin);
    const waiting = [...groups];
    const work = async (): Promise<void> => {
      for (let group = waiting.shift(); group !== undefined; group = waiting.shift())
        await this.#gateway(group, proxy);
    };
    await Promise.all(Array.from({ length: Math.min(MOST_GATEWAYS, groups.length) }, work));
    this.#ownClock();
  }

  #chosen(entries: readonly Entry[]): readonly Entry[] {
    const { models } = this.#options;
    return models.length === 0
      ? entries
      : entries.filter(({ deployment }) => models.includes(deployment.group));
  }

  async #gateway(group: GatewayGroup, proxy: ProxyClient | null): Promise<void> {
    const { timeoutMs, onGateway, areas, send } = this.#options;
    onGateway(this.#redactor.text(group.subject));
    const report = this.#reporter('gateway', group.subject);
    const why = this.#badProxy(group.deployment.origin);
    if (why !== null) return report.found('outgoing proxy', 'TL-1404', { seen: why });
    const client = new GatewayClient(group, this.#pools, this.#options.clock.mono);
    try {
      const found = await bounded(this.#ask(client, report), timeoutMs * GATEWAY_QUESTIONS);
      if (!areas.has('call')) return;
      const calls = this.#reporter('call', group.subject);
      if (send === 'never') return calls.skipped('call', 'calls cost money: --send makes one for each entry');
      if (send === 'through' && proxy === null)
        return calls.skipped(
          'call',
          'they go through the proxy, so that each gets its spend row, and it cannot be called',
        );
      if (!found.isUsable) return calls.skipped('call', 'the gateway is not reached, or refuses');
      await this.#calls(client, proxy, found.unknown, calls);
    } catch (error) {
      if (!(error instanceof TookTooLong)) throw error;
      report.found('answer', 'TL-1501', { seen: `not all questions were answered: ${error.message}` });
    } finally {
      client.close();
    }
  }

  async #ask(client: GatewayClient, report: Reporter): Promise<GatewayFound> {
    const { timeoutMs, clock } = this.#options;
    const limits = { timeoutMs, now: clock.now };
    const isOpen = await this.#network(client.group);
    if (!isOpen) {
      report.skipped('key and models', 'there is no connection');
      return UNUSABLE;
    }
    const found = await checkGateway(client, limits, report);
    if (found.skewMs !== null) this.#skews.push(found.skewMs);
    if (found.list !== null) await checkEcho(client, found.list, limits, report);
    return found;
  }

  /** A variable that names no proxy; no connection can be opened then. */
  #badProxy(origin: string): string | null {
    try {
      proxyFor(origin, this.#pools.proxies);
      return null;
    } catch (error) {
      return asError(error).message;
    }
  }

  /** Once for each origin, whatever keys there are. */
  #network({ deployment, entries }: GatewayGroup): Promise<boolean> {
    const subject = `${deployment.origin}, ${namesOf(this.#perOrigin.get(deployment.origin) ?? entries)}`;
    const { origin, refuseLinkLocal, tls } = deployment;
    const { timeoutMs, clock } = this.#options;
    const name = `${refuseLinkLocal} ${tls?.sha256 ?? ''} ${origin}`;
    const question = {
      origin,
      proxies: this.#pools.proxies,
      refuseLinkLocal,
      tls,
      place: entries[0]?.basePlace ?? null,
      timeoutMs,
      now: clock.now,
    };
    const running = this.#networks.get(name) ?? checkNetwork(question, this.#reporter('gateway', subject));
    this.#networks.set(name, running);
    return running;
  }

  async #calls(
    client: GatewayClient,
    proxy: ProxyClient | null,
    unknown: ReadonlySet<string>,
    report: Reporter,
  ): Promise<void> {
    const { callTimeoutMs, latency } = this.#options;
    const limits = { timeoutMs: callTimeoutMs };
    let isTimed = !latency;
    // One after the other: a gateway must not take the doctor for a burst of load.
    for (const entry of client.group.entries) {
      const own = report.about(`entry ${entry.deployment.group}`);
      if (unknown.has(entry.deployment.upstreamModel))
        own.skipped('call', 'the gateway does not know the model');
      else {
        await checkCalls(entry, client, proxy, limits, own);
        if (isTimed || whyNoCall(entry.deployment) !== null) continue;
        isTimed = true;
        await timeCalls(entry, client, proxy, limits, own);
      }
    }
  }

  /** Several gateways cannot all be wrong by the same. */
  #ownClock(): void {
    const [first] = this.#skews;
    if (first === undefined || this.#skews.length < 2 || Math.abs(first) < SKEW_MS) return;
    if (this.#skews.some((skew) => Math.abs(skew - first) > SAME_MS)) return;
    this.#reporter('machine', 'this machine').found('clock', 'TL-1004', {
      seen: `${this.#skews.length} gateways agree with each other; this clock is ${Math.round(Math.abs(first) / 1000)} s ${first < 0 ? 'ahead' : 'behind'}`,
    });
  }
}

function secretsOf(snapshot: Snapshot | null): Secret[] {
  if (snapshot === null) return [];
  const { deployments, masterKey, database, valkey, access } = snapshot;
  const ofEntries = deployments.flatMap(({ apiKey, staticHeaders }) => [
    ...(apiKey === null ? [] : [apiKey]),
    ...staticHeaders.map(([, value]) => value),
  ]);
  const inference = access.inferenceKeys.map(({ key }) => key);
  const stores = [database?.password, valkey?.password, valkey?.sentinels?.password];
  return [...ofEntries, ...inference, masterKey, ...stores].filter(
    (one) => one !== null && one !== undefined,
  );
}
