// What can be counted is tested by counting: what one request makes the proxy do, seen from outside of a real process.
// Bounds are what was measured and a little room; lower is better.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { startDemoGateway } from '../../proxy/demo-gateway/demo-gateway.ts';
import { folder, ROOT, serveCli, type Cli } from '../support/cli.ts';
import { MARK, type Counts } from '../support/counting.ts';
import { defaultConfig, KEY } from '../support/rig.ts';

const REQUESTS = 50;
const STRACE = '/usr/bin/strace';
/** Turns of the event loop, wake-ups among threads and the heap's pages: they depend on what else the machine does. */
const BY_CHANCE: ReadonlySet<string> = new Set([
  'epoll_pwait',
  'futex',
  'mmap',
  'munmap',
  'madvise',
  'mprotect',
]);
/** So do these: what wakes the loop, and log lines, of which as many are written at once as have gathered. */
const CHANCE = /^\d+ +\w+\((?:[12]<|\d+<anon_inode:)/;
const demo = await startDemoGateway({ keepSeen: 1 });
t.teardown(() => demo.close());

async function call(url: string, stream: boolean): Promise<void> {
  const messages = [{ role: 'user', content: `${MARK} ${'text with "quotes" and \n lines. '.repeat(300)}` }];
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'demo', stream, user: 'somebody', messages }),
  });
  await answer.text();
  if (answer.status !== 200) throw new Error(`status ${answer.status}`);
}

async function calls(url: string, count: number, stream: boolean): Promise<void> {
  for (let i = 0; i < count; i += 1) await call(url, stream);
}

async function counted(cli: Cli, nth: number): Promise<Counts> {
  cli.kill('SIGUSR2');
  const [, text = ''] = await cli.said(new RegExp(`^counts ${nth} (.*)\\n`, 'm'));
  return JSON.parse(text) as Counts;
}

t.test('a request is scanned once; no URL, no timer, no parse of its body is made for it', async (t) => {
  const dir = folder(t);
  const config = join(dir, 'gateway.yaml');
  const others = Array.from(
    { length: 40 },
    (_, i) =>
      `  - model_name: other-${i}\n    litellm_params: { model: litellm_proxy/demo, api_base: "http://127.0.0.1:${9 + (i % 3)}" }\n`,
  );
  writeFileSync(
    config,
    defaultConfig(demo).replace('general_settings:', `${others.join('')}general_settings:`),
  );
  const preload = join(ROOT, 'test/support/counting.ts');
  const command = [process.execPath, '--import', preload, join(ROOT, 'proxy/main.ts')] as const;
  const proxy = await serveCli(t, config, join(dir, 'data'), [], { command });

  const start = await counted(proxy, 1);
  t.equal(start.calls['proxy/upstream/pool.ts ConnectionPool'], 4, 'four origins for 44 entries: four pools');
  t.notOk(start.undici, 'what is not used is not loaded');

  let nth = 1;
  for (const stream of [false, true]) {
    await calls(proxy.url, 5, stream); // connections, first uses
    await counted(proxy, (nth += 1));
    await calls(proxy.url, REQUESTS, stream);
    const { calls: called, urls, timers, bodies } = await counted(proxy, (nth += 1));
    const kind = stream ? 'streamed' : 'plain';
    t.equal(called['proxy/pipeline/parse-request.ts jsonMembers'], REQUESTS, `${kind}: all came through`);
    // The usage of a plain answer is found by a scan of its own.
    const scans = called['proxy/bodies/peek.ts peek'];
    t.equal(scans, stream ? REQUESTS : 2 * REQUESTS, `${kind}: one scan per body`);
    t.equal(bodies, 0, `${kind}: no body is parsed or serialised`);
    t.equal(urls, 0, `${kind}: no URL is made`);
    // Others are set at intervals: on a busy machine there are more of them, together even more than requests.
    const forEach = Object.entries(timers).filter(([, count]) => count >= REQUESTS);
    t.strictSame(forEach, [], `${kind}: no timer is set for each of ${REQUESTS} requests`);
    t.equal(called['proxy/upstream/pool.ts ConnectionPool'] ?? 0, 0, `${kind}: no pool is made`);
  }
});

/** Whether strace is here and may trace (containers often forbid it). */
function mayTrace(): string | false {
  if (!existsSync(STRACE)) return 'strace is not installed';
  const { status } = spawnSync(STRACE, ['-o', '/dev/null', 'true']);
  return status === 0 ? false : 'strace may not trace here';
}

t.test(
  'a request costs few system calls, of which two write the journal',
  { skip: mayTrace() },
  async (t) => {
    const dir = folder(t);
    const config = join(dir, 'gateway.yaml');
    const trace = join(folder(t), 'trace'); // beside the configuration each line would wake the watcher, and be a line
    writeFileSync(config, defaultConfig(demo));
    const traced = [
      STRACE,
      '-D', // the proxy itself is our child then, and ends with the test
      '-f',
      '-qq',
      '-y',
      '-o',
      trace,
      process.execPath,
      join(ROOT, 'proxy/main.ts'),
    ] as const;
    const proxy = await serveCli(t, config, join(dir, 'data'), [], { command: traced });
    await calls(proxy.url, 20, false);
    await (await fetch(`${proxy.url}/begin-counting`)).text();
    await calls(proxy.url, REQUESTS, false);
    await (await fetch(`${proxy.url}/end-counting`)).text();
    proxy.kill('SIGTERM');
    await proxy.ended; // the trace is whole only then

    const lines = readFileSync(trace, 'utf8').split('\n');
    const begin = lines.findIndex((line) => line.includes('GET /begin-counting'));
    const end = lines.findIndex((line) => line.includes('GET /end-counting'));
    t.ok(begin > 0 && end > begin, 'both marks are in the trace');
    const thread = lines[begin]?.split(' ')[0];
    const made = lines.slice(begin, end).filter((line) => line.startsWith(`${thread} `));
    const names = new Map<string, number>();
    for (const line of made) {
      const name = /^\d+ +(\w+)\(/.exec(line)?.[1];
      if (name !== undefined && !BY_CHANCE.has(name) && !CHANCE.test(line))
        names.set(name, (names.get(name) ?? 0) + 1);
    }
    const each = (test: (line: string) => boolean): number =>
      made.filter((line) => test(line) && !CHANCE.test(line)).length / REQUESTS;
    const journal = each((line) => / (p?writev?|pwrite64)\(\d+<[^>]*\/journal\//.test(line));
    const sent = each((line) => / (writev?|sendmsg|sendto)\(\d+<(socket|TCP)/.test(line));
    const all = [...names.values()].reduce((sum, count) => sum + count, 0) / REQUESTS;
    t.comment(
      [...names]
        .toSorted((a, b) => b[1] - a[1])
        .map(([name, count]) => `${name} ${count / REQUESTS}`)
        .join(', '),
    );
    t.ok(journal <= 2.1, `${journal} writes to the journal`);
    t.ok(sent <= 2.1, `${sent} writes to sockets: one up, one down`);
    t.ok(all <= 7, `${all} in all on the main thread: two reads, two writes to sockets, two to the journal`);
    proxy.kill('SIGTERM');
  },
);
