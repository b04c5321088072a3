// Three servers behind the haproxy of docs/examples/haproxy.cfg, on one PostgreSQL and one Valkey, are replaced one after
// the other while streams and small calls go on: no stream is cut, no call refused, no row lost. Keys and models that are
// made meanwhile, through whichever server, are soon known to all.
import { writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { onPath, ROOT } from '../../../bench/harness/peers.ts';
import { startDemoGateway } from '../../../proxy/demo-gateway/demo-gateway.ts';
import { serveCli, startCli } from '../../support/cli.ts';
import { freePort } from '../../support/free-port.ts';
import { sendLoadCall } from '../../support/load-call.ts';
import { ownPostgres } from '../../support/postgres.ts';
import { headerOf, KEY, send, type Row } from '../../support/rig.ts';
import { ownValkey } from '../../support/valkey.ts';
import { compareRows } from '../harness/compare-rows.ts';
import type { Served } from '../harness/proxy-setup.ts';
import { ResultRow } from '../harness/result-row.ts';
import { DEADLINE_MS, type Scenario, type ScenarioRun } from '../harness/scenario-run.ts';

const HAPROXY_FILE = join(ROOT, 'docs/examples/haproxy.cfg');
const SERVERS = 3;
/** The last of them has two worker processes. */
const WORKERS = ['1', '1', '2'];
const STREAMS = 12;
const SMALL_CALLS = 6;
/** Of a stream's ten events: it lasts as long as a replacement, so that each server has some when its signal comes. */
const EVENT_MS = 500;
const LOOK_MS = 50;
const PATIENCE_MS = 2 * 3_600_000;
const SESSION = 'x-litellm-session-id';

interface Fleet {
  readonly servers: Served[];
  /** Of haproxy. */
  readonly url: string;
  readonly port: number;
  readonly demoUrl: string;
  /** Sessions that reached the gateway. */
  readonly seen: readonly string[];
  /** Starts the server of this index again, where it was. */
  restart(index: number): Promise<Served>;
  rows(): Promise<Row[]>;
}

/** Looks again and again. @returns whether it has come true in time */
async function comesTrue(is: () => Promise<boolean>): Promise<boolean> {
  const endsAt = performance.now() + DEADLINE_MS;
  while (performance.now() < endsAt) {
    if (await is()) return true;
    await pause(LOOK_MS);
  }
  return false;
}

async function openFleet(scenario: ScenarioRun): Promise<Fleet | string> {
  const haproxy = onPath('haproxy');
  if (haproxy === null) return 'haproxy is not installed (apt-get install haproxy): not tried here.';
  const host = {
    teardown: (act: () => unknown) => scenario.teardown(act),
    comment: (text: string) => void scenario.notes.push(text),
  };
  const postgres = await ownPostgres(host);
  if (postgres === null) return 'PostgreSQL is not installed: not tried here.';
  const valkey = await ownValkey(host);
  const seen: string[] = [];
  const demo = await startDemoGateway({
    slowMs: 60,
    eventIntervalMs: EVENT_MS,
    keepSeen: 100,
    onRequest: ({ rawHeaders }) => seen.push(headerOf(rawHeaders, SESSION) ?? 'no session'),
  });
  scenario.teardown(() => demo.close());
  const folder = scenario.folder();
  const configPath = join(folder, 'gateway.yaml');
  const databaseUrl = postgres.url();
  const counters =
    valkey === null ? '' : `router_settings: { redis_host: 127.0.0.1, redis_port: ${valkey.port} }`;
  writeFileSync(configPath, configOf(demo.url, databaseUrl, counters));
  const ports: number[] = [];
  while (ports.length < SERVERS) ports.push(await freePort());
  const restart = (index: number): Promise<Served> => {
    const flags = ['--port', String(ports[index]), '--workers', String(WORKERS[index])];
    return serveCli(scenario, configPath, join(folder, `data-${index}`), flags, { patienceMs: PATIENCE_MS });
  };
  const servers: Served[] = [];
  for (let n = 0; n < SERVERS; n += 1) servers.push(await restart(n));
  const port = await freePort();
  const places = ports.map((of, n) => [`THROUGHLINE_${n + 1}`, `127.0.0.1:${of}`]);
  const env = {
    HAPROXY_LISTEN: `127.0.0.1:${port}`,
    ...(Object.fromEntries(places) as Record<string, string>),
  };
  const program = startCli(scenario, ['-db', '-f', HAPROXY_FILE], {
    command: [haproxy],
    env,
    patienceMs: PATIENCE_MS,
  });
  const url = `http://127.0.0.1:${port}`;
  const isUp = async (): Promise<boolean> =>
    (await send(url, 'GET', '/health/liveness').catch(() => null))?.status === 200;
  const ended = program.ended.then(({ err }) => Promise.reject(new Error(`haproxy ended: ${err}`)));
  if (!(await Promise.race([comesTrue(isUp), ended]))) throw new Error('haproxy does not answer');
  return { servers, url, port, demoUrl: demo.url, seen, restart, rows: () => rowsIn(databaseUrl) };
}

const configOf = (demoUrl: string, databaseUrl: string, counters: string): string => `
model_list:
  - model_name: demo-slow
    litellm_params: { model: litellm_proxy/demo-slow, api_base: "${demoUrl}", api_key: k, input_cost_per_token: 1e-6, output_cost_per_token: 2e-6 }
  - model_name: demo-interval
    litellm_params: { model: litellm_proxy/demo-interval, api_base: "${demoUrl}", api_key: k, input_cost_per_token: 1e-6, output_cost_per_token: 2e-6 }
general_settings:
  master_key: ${KEY}
  database_url: "${databaseUrl}"
  store_model_in_db: true
  forward_client_headers_to_llm_api: true
  min_drain_seconds: 5
litellm_settings: { max_budget: 1000 }
${counters}
`;

/** What all servers have shipped. */
async function rowsIn(url: string): Promise<Row[]> {
  const { searchParams } = new URL(url);
  const client = new pg.Client({ connectionString: url.replace(/\?.*/, '') });
  await client.connect();
  try {
    const text = `SELECT session_id, request_id, status, end_reason FROM "${searchParams.get('schema')}".spend`;
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}

/** Calls until `stop`, from clients that keep their connections and from others that do not. */
function beginLoad(
  { port }: Fleet,
  result: ResultRow,
): {
  readonly whole: Set<string>;
  /** Why each other one was not. */
  readonly bad: Map<string, string>;
  stop(): Promise<void>;
} {
  const whole = new Set<string>();
  const bad = new Map<string, string>();
  const agents = [true, false].map(
    (keepAlive) => new Agent({ keepAlive, maxSockets: STREAMS + SMALL_CALLS }),
  );
  let isOver = false;
  let sent = 0;
  const caller = async (stream: boolean, agent: Agent): Promise<void> => {
    while (!isOver) {
      sent += 1;
      const session = `${stream ? 'stream' : 'small'}-${sent}`;
      const model = stream ? 'demo-interval' : 'demo-slow';
      let why = '';
      const onProblem = (text: string): void => void (why = text);
      const end = await sendLoadCall({ agent, port, session, model, stream, onProblem });
      if (end === 'whole') whole.add(session);
      else bad.set(session, why);
      result.check(end === 'whole', () => `${session} was ${end}: ${why}`);
    }
  };
  const callers = Array.from({ length: STREAMS + SMALL_CALLS }, (_, n) =>
    caller(n < STREAMS, agents[n % 2] as Agent),
  );
  return {
    whole,
    bad,
    stop: async () => {
      isOver = true;
      await Promise.all(callers);
      for (const agent of agents) agent.destroy();
    },
  };
}

/** A key and a model, made by way of haproxy, are good at every server; the key at once, the model soon. */
async function checkShared(
  { url, demoUrl, servers }: Fleet,
  name: string,
  made: { readonly key: string; readonly id: string },
  result: ResultRow,
): Promise<void> {
  const authorization = `Bearer ${made.key}`;
  const messages = [{ role: 'user', content: 'hello' }];
  for (const [n, server] of servers.entries()) {
    const ask = (model: string) =>
      send(server.url, 'POST', '/v1/chat/completions', { model, messages }, { authorization });
    const { status, text } = await ask('demo-slow');
    result.check(status === 200, () => `server ${n} does not take the key ${name}: ${status} ${text}`);
    const isServed = await comesTrue(async () => (await ask(name)).status === 200);
    result.check(isServed, () => `server ${n} does not serve ${name}`);
  }
  const renamed = `${name}-renamed`;
  const changed = await send(url, 'POST', '/model/update', {
    model_name: renamed,
    model_info: { id: made.id },
  });
  result.check(changed.status === 200, () => `/model/update: ${changed.status} ${changed.text} (${demoUrl})`);
  for (const [n, server] of servers.entries()) {
    const isListed = await comesTrue(async () =>
      (await send(server.url, 'GET', '/v1/models')).text.includes(`"${renamed}"`),
    );
    result.check(isListed, () => `server ${n} does not list ${renamed}`);
  }
}

async function make({ url, demoUrl }: Fleet, name: string, result: ResultRow) {
  const key = await send(url, 'POST', '/key/generate', { key_alias: name });
  result.check(key.status === 200, () => `/key/generate: ${key.status} ${key.text}`);
  const entry = {
    model_name: name,
    litellm_params: { model: 'litellm_proxy/demo', api_base: demoUrl, api_key: 'sk-runtime' },
    model_info: { id: name },
  };
  const model = await send(url, 'POST', '/model/new', entry);
  result.check(model.status === 200, () => `/model/new: ${model.status} ${model.text}`);
  return { key: (JSON.parse(key.text) as { readonly key: string }).key, id: name };
}

export const rollingRestart: Scenario = {
  name: 'rolling-restart',
  about: 'three servers behind haproxy are replaced one by one under load: no stream cut, no call refused',
  run: async (scenario) => {
    const rounds = scenario.count(10, 1, scenario.options.rounds);
    const fleet = await openFleet(scenario);
    const calls = new ResultRow(`calls while ${rounds * SERVERS} servers are replaced`, ['lost', 'doubled']);
    const shared = new ResultRow('keys and models made meanwhile, at each server');
    if (typeof fleet === 'string') {
      scenario.notes.push(fleet);
      return [];
    }
    const load = beginLoad(fleet, calls);
    for (let n = 0; n < rounds * SERVERS; n += 1) {
      const index = n % SERVERS;
      const old = fleet.servers[index] as Served;
      // It has streams when its signal comes.
      const before = fleet.seen.length;
      await comesTrue(() => Promise.resolve(fleet.seen.length >= before + STREAMS));
      old.kill('SIGTERM');
      const made = await make(fleet, `made-${n}`, shared);
      const { code, err } = await old.ended;
      calls.check(code === 0, () => `server ${index} ended with ${code}: ${err.slice(-500)}`);
      const fresh = await fleet.restart(index);
      fleet.servers[index] = fresh;
      const gets = async (): Promise<boolean> =>
        /^throughline_requests_total\{/m.test((await send(fresh.url, 'GET', '/metrics')).text);
      calls.check(await comesTrue(gets), () => `server ${index} got no call after it was replaced`);
      await checkShared(fleet, `made-${n}`, made, shared);
    }
    await load.stop();
    for (const server of fleet.servers) server.kill('SIGTERM');
    await Promise.all(fleet.servers.map(({ ended }) => ended));
    const rows = await fleet.rows();
    const ofLoad = fleet.seen.filter((session) => /^(?:stream|small)-/.test(session));
    compareRows(
      calls,
      rows.filter(({ session_id: of }) => /^(?:stream|small)-/.test(String(of))),
      {
        seen: ofLoad,
        whole: load.whole,
      },
    );
    for (const session of load.bad.keys()) {
      const ends = rows
        .filter((row) => row['session_id'] === session)
        .map((row) => String(row['end_reason']));
      calls.notes.push(`${session}: ${ends.length === 0 ? 'no row' : ends.join(', ')}`);
    }
    const streams = ofLoad.filter((session) => session.startsWith('stream-')).length;
    calls.notes.push(
      `${streams} streams of some ${(EVENT_MS * 10) / 1000} s, ${ofLoad.length - streams} small calls.`,
    );
    return [calls, shared];
  },
};
