// The platform interface with many conversations: what a start adds, what a read takes, and what an LLM call pays for a
// key among that many. The conversations are written by the platform's own store before the server starts.
import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { Secret } from '../../config/secret.ts';
import { itemOf, NOTHING_REPORTED } from '../../platform/conversations/conversation.ts';
import { newHexId, newKey } from '../../platform/ids.ts';
import { Vault } from '../../platform/store/vault.ts';
import { openExtensionTables } from '../../proxy/spend/store/postgres/extension-tables.ts';
import { ownPostgres, settingsOf } from '../../test/support/postgres.ts';
import { fixed } from '../harness/measure.ts';
import { folderFor, ROOT } from '../harness/peers.ts';
import { cpuSeconds, freePort, Program, residentMb } from '../harness/processes.ts';
import { quantile } from '../harness/quantiles.ts';
import type { Bench, Scenario, Table } from '../harness/scenario.ts';
import { callCosts, MASTER_KEY, modelList, SESSION_KEY, startTimes } from './platform-calls.ts';
import { openPlatformFile, platformTables, type PlatformStore } from '../../platform/store/store.ts';

const BATCH = 5_000;
const WARM = 20;

interface Seeded {
  readonly ids: readonly string[];
  readonly secretKey: string;
}

/** Where the conversations are kept. */
interface Kind {
  readonly name: string;
  /** null = SQLite. */
  readonly url: string | null;
}

async function seed(dataDir: string, count: number, url: string | null): Promise<Seeded> {
  mkdirSync(dataDir, { recursive: true });
  if (url === null) return fill(openPlatformFile(join(dataDir, 'platform.db')), count);
  const settings = settingsOf(url);
  const extensionTables = openExtensionTables(settings);
  const seeded = await fill(platformTables(extensionTables, settings.schema), count);
  await extensionTables.transact([{ text: 'VACUUM ANALYZE', values: [] }]); // as autovacuum does within a minute
  await extensionTables.close();
  return seeded;
}

async function fill(store: PlatformStore, count: number): Promise<Seeded> {
  const secretKey = randomBytes(32).toString('base64');
  const vault = new Vault(new Secret(secretKey));
  await vault.check(store, 0);
  const ids = Array.from({ length: count }, newHexId);
  for (let from = 0; from < count; from += BATCH) {
    const changes = ids.slice(from, from + BATCH).map((id, index) => ({
      put: itemOf(
        {
          id,
          userId: '',
          title: `Conversation about topic ${from + index}`,
          sandboxId: '',
          parentId: null,
          facts: {
            selected_repository: 'example/repository',
            selected_branch: null,
            git_provider: null,
            trigger: 'gui',
            pr_number: [],
            public: null,
            llm_model: 'small',
            llm_profile: 'Default',
          },
          tags: { costcenter: String(index % 100), project: 'bench' },
          runtime: NOTHING_REPORTED,
          key: newKey('sk-conv-'),
          headers: [['x-project', new Secret('bench')]],
          maxBudget: null,
          createdMs: Date.now() - (count - from - index) * 1000,
          updatedMs: Date.now(),
          revision: 0,
        },
        vault,
      ),
    }));
    await store.apply(changes);
  }
  await store.close();
  return { ids, secretKey };
}

export const platform: Scenario = {
  name: 'platform',
  about:
    'the platform interface with 100,000 conversations in SQLite and PostgreSQL: start, settings, searches, calls; sandboxes',
  run: async (bench) => {
    const upstreamPort = await bench.upstream('json');
    const starts = await startTimes(bench, upstreamPort);
    const tables = [...(await measured(bench, upstreamPort, { name: 'SQLite', url: null })), starts];
    const ends: (() => unknown)[] = [];
    try {
      const server = await ownPostgres({ teardown: (act) => ends.unshift(act) }, () => []);
      if (server === null) bench.notes.push('PostgreSQL was not run: no server is installed.');
      else
        tables.push(
          ...(await measured(bench, upstreamPort, {
            name: server.name.replace(/ from .*/, ''),
            url: server.url(),
          })),
        );
    } finally {
      for (const end of ends) await end();
    }
    return tables;
  },
};

async function measured(bench: Bench, upstreamPort: number, { name, url }: Kind): Promise<Table[]> {
  const count = bench.wanted.quick ? 10_000 : 100_000;
  const folder = folderFor(bench.folder, `platform-${url === null ? 'sqlite' : 'postgresql'}`);
  const { ids, secretKey } = await seed(join(folder, 'data'), count, url);
  const port = await freePort();
  const config = join(folder, 'gateway.yaml');
  writeFileSync(
    config,
    `model_list: ${modelList(upstreamPort)}\ngeneral_settings: { master_key: ${MASTER_KEY}${url === null ? '' : `, database_url: "${url}"`} }\nplatform: { session_api_key: ${SESSION_KEY}, secret_key: "${secretKey}" }\n`,
  );
  const startedAt = performance.now();
  const args = ['serve', '--config', config, '--host', '127.0.0.1', '--port', String(port)];
  const flags = ['--data-dir', join(folder, 'data'), '--log-level', 'warn'];
  const program = new Program(process.execPath, [join(ROOT, 'proxy/main.ts'), ...args, ...flags]);
  try {
    await program.listens(port);
    const readyMs = performance.now() - startedAt;
    const readyCpu = cpuSeconds(program.pid);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const call = (method: string, path: string, body?: unknown): Promise<number> =>
      ask(agent, port, method, path, body);
    await call('POST', '/api/settings', { llm_model: 'small', llm_api_key: 'sk-x' });
    await call('POST', '/api/v1/settings', { language: 'en' });
    const some = ids
      .slice(0, 99)
      .map((id) => `ids=${id}`)
      .join('&');
    const list = '/api/v1/app-conversations';
    const cases: readonly (readonly [what: string, method: string, path: string, body?: unknown])[] = [
      ['GET settings, V0', 'GET', '/api/settings'],
      ['POST settings, V0 (on the disk)', 'POST', '/api/settings', { language: 'de' }],
      ['GET settings, V1', 'GET', '/api/v1/settings'],
      ['search, first 20', 'GET', `${list}/search?limit=20`],
      ['search, first 100', 'GET', `${list}/search`],
      ['search, last page', 'GET', `${list}/search?limit=20&page_id=${count - 20}`],
      ['search by title, no match', 'GET', `${list}/search?limit=20&title__contains=zebra`],
      ['search by title, one match', 'GET', `${list}/search?limit=20&title__contains=topic%20${count - 1}`],
      ['search by title, all match', 'GET', `${list}/search?limit=20&title__contains=topic`],
      ['search by title, two letters', 'GET', `${list}/search?limit=20&title__contains=zq`],
      ['count', 'GET', `${list}/count`],
      ['count by title', 'GET', `${list}/count?title__contains=topic%2099`],
      ['99 by id', 'GET', `${list}?${some}`],
      ['PATCH tags (on the disk)', 'PATCH', `${list}/${ids[0]}`, { tags: { a: 'b' } }],
    ];
    const rounds = bench.count(300, 50);
    const rows: string[][] = [];
    for (const [what, method, path, body] of cases) {
      const times: number[] = [];
      for (let round = 0; round < WARM; round += 1) await call(method, path, body);
      const before = cpuSeconds(program.pid);
      for (let round = 0; round < rounds; round += 1) times.push(await call(method, path, body));
      const cpuMs = ((cpuSeconds(program.pid) - before) * 1000) / rounds;
      rows.push([what, fixed(cpuMs, 2), fixed(quantile(times, 0.5), 2), fixed(quantile(times, 0.99), 2)]);
    }
    agent.destroy();
    const resident = residentMb(program.pid);
    const table = {
      title: `Platform interface on ${name}: ${count} conversations, ${rounds} calls each, one at a time`,
      columns: ['call', 'CPU ms', 'p50 ms', 'p99 ms'],
      rows,
      notes: [
        'CPU is of all threads of the proxy, per call: what stands when the machine is shared.',
        `ready ${fixed(readyMs, 0)} ms after the start (${fixed(readyCpu, 1)} s of CPU), with all keys in memory; RSS ${fixed(resident, 0)} MB.`,
      ],
    };
    // Calls know their key without the store, so that one kind says it for all.
    return url === null ? [table, await callCosts(bench, port, program.pid, count)] : [table];
  } finally {
    program.stop();
  }
}

/** @returns milliseconds until the last byte. @throws Error when the answer is no 200 */
function ask(agent: Agent, port: number, method: string, path: string, body: unknown): Promise<number> {
  const startedAt = performance.now();
  const payload = body === undefined ? undefined : JSON.stringify(body);
  const headers = {
    'x-session-api-key': SESSION_KEY,
    ...(payload === undefined
      ? {}
      : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(payload)) }),
  };
  return new Promise((resolve, reject) => {
    const req = request({ host: '127.0.0.1', port, method, path, headers, agent }, (res) => {
      res.resume();
      res.on('end', () => {
        if (res.statusCode === 200) resolve(performance.now() - startedAt);
        else reject(new Error(`${method} ${path} was answered with ${String(res.statusCode)}`));
      });
    });
    req.on('error', reject);
    req.end(payload);
  });
}
