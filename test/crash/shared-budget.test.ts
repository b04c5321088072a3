// Four servers on one Valkey and one PostgreSQL, and one budget: calls from all sides, servers killed and started again in
// between. What the rows add up to never exceeds the budget. `THROUGHLINE_CALLS=20000` makes it the long run.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import pg from 'pg';
import { startDemoGateway } from '../../proxy/demo-gateway/demo-gateway.ts';
import { folder, serveCli } from '../support/cli.ts';
import { ownPostgres } from '../support/postgres.ts';
import { KEY, send } from '../support/rig.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { ownValkey } from '../support/valkey.ts';

const CALLS = Number(process.env['THROUGHLINE_CALLS'] ?? 600);
/** One after each so many calls. */
const KILLS = CALLS > 2000 ? 10 : 2;
const SERVERS = 4;
const AT_ONCE = 40;
/** USD; calls cost some 0.00002, and reserve some 0.0002. */
const BUDGET = (CALLS * 0.00002) / 3;

type Server = Awaited<ReturnType<typeof serveCli>>;

/** The sum of all rows, exact. */
async function spentIn(url: string): Promise<bigint> {
  const { searchParams } = new URL(url);
  const client = new pg.Client({ connectionString: url.replace(/\?.*/, '') });
  await client.connect();
  try {
    const text = `SELECT COALESCE(SUM(spend_pico), 0)::text AS pico FROM "${searchParams.get('schema')}".spend`;
    const { rows } = await client.query<{ pico: string }>(text);
    return BigInt(rows[0]?.pico ?? '0');
  } finally {
    await client.end();
  }
}

async function stop(servers: readonly Server[]): Promise<void> {
  for (const server of servers) server.kill('SIGTERM');
  await Promise.all(servers.map(({ ended }) => ended));
}

t.test('four servers never spend more than their budget together, whoever is killed', async (t: Test) => {
  const valkey = await ownValkey(t);
  const postgres = await ownPostgres(t);
  if (valkey === null || postgres === null)
    return t.comment('NEEDS VALKEY OR REDIS, AND POSTGRESQL: not tested here');
  const demo = await startDemoGateway({ slowMs: 5 });
  t.teardown(() => demo.close());
  const database = postgres.url();
  const dir = folder(t);
  const config = join(dir, 'gateway.yaml');
  writeFileSync(
    config,
    `
model_list:
  - model_name: demo
    litellm_params: { model: openai/acme/demo, api_base: "${demo.url}/compat/v1", api_key: k, input_cost_per_token: 1e-6, output_cost_per_token: 2e-6 }
general_settings:
  master_key: ${KEY}
  database_url: "${database}"
  fail_closed_budget_enforcement: true
litellm_settings: { max_budget: ${BUDGET.toFixed(6)} }
router_settings: { redis_host: 127.0.0.1, redis_port: ${valkey.port} }
`,
  );
  const begin = (n: number): Promise<Server> => serveCli(t, config, join(dir, `data-${n}`));
  const servers: Server[] = [];
  for (let n = 0; n < SERVERS; n += 1) servers.push(await begin(n));
  const random = seededRandom(11);
  const statuses = new Map<number, number>();
  let sent = 0;
  const body = { model: 'demo', max_tokens: 10, messages: [{ role: 'user', content: 'one two three' }] };
  const client = async (): Promise<void> => {
    while (sent < CALLS) {
      sent += 1;
      const { url } = servers[Math.floor(random() * SERVERS)] as Server;
      const answer = await send(url, 'POST', '/v1/chat/completions', body).catch(() => null);
      const status = answer?.status ?? 0;
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  const killing = async (): Promise<void> => {
    for (let kill = 1; kill <= KILLS; kill += 1) {
      while (sent < (CALLS * kill) / (KILLS + 1)) await pause(2);
      const n = Math.floor(random() * SERVERS);
      const victim = servers[n] as Server;
      victim.kill('SIGKILL');
      await victim.ended;
      servers[n] = await begin(n);
    }
  };
  await Promise.all([killing(), ...Array.from({ length: AT_ONCE }, client)]);
  await stop(servers);
  const spent = await spentIn(database);
  const budget = BigInt(BUDGET.toFixed(6).replace('.', '')) * 10n ** 6n;
  t.comment(`spent ${spent} of ${budget} pico-dollars; ${JSON.stringify([...statuses])}`);
  t.ok(spent <= budget, `${spent} of ${budget}`);
  t.ok(spent * 10n > budget * 5n, 'most of it was spent');
  t.ok((statuses.get(422) ?? 0) > 0, 'the rest was refused');
});
