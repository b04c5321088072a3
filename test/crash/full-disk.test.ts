// Journal, store and log on one disk, and that disk is full under load: the program lives, answers or refuses in clear
// words, and has every row of an accepted call, also after kill -9 in that state.
import { readFileSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import t from 'tap';
import { startDemoGateway } from '../../proxy/demo-gateway/demo-gateway.ts';
import { folder, MAIN, serveCli, type Cli } from '../support/cli.ts';
import { sendLoadCall, type CallEnd } from '../support/load-call.ts';
import { defaultConfig, headerOf, send, type Row } from '../support/rig.ts';
import { noSmallDisk, smallDisk } from '../support/small-disk.ts';
import { beforeNextLook } from '../support/patience.ts';

const HELD = 100;
const CHAT = { model: 'demo', messages: [{ role: 'user', content: 'one two three' }] };

type Proxy = Cli & { readonly url: string; readonly port: number };

for (const { end, workers } of [
  { end: 'there is room again', workers: '1' },
  { end: 'there is room again', workers: '2' },
  { end: 'kill -9 while it is full', workers: '1' },
  { end: 'SIGTERM while it is full', workers: '1' },
]) {
  t.test(`a full disk under ${workers} workers, then ${end}`, { skip: noSmallDisk() }, async (t) => {
    const demo = await startDemoGateway({});
    t.teardown(() => demo.close());
    const dir = folder(t);
    const config = join(dir, 'gateway.yaml');
    writeFileSync(config, defaultConfig(demo));
    const diskDir = join(dir, 'disk');
    const disk = smallDisk(t, diskDir, '8m');
    const log = join(diskDir, 'log');
    const start = (): Promise<Proxy> =>
      serveCli(t, config, join(diskDir, 'data'), ['--workers', workers], {
        command: ['/bin/sh', '-c', `exec "${process.execPath}" "${MAIN}" "$@" >> "${log}"`, 'sh'],
      });
    const proxy = await start();
    const ends = new Map<string, CallEnd>();
    const agent = new Agent({ keepAlive: true, maxSockets: HELD * 2 });
    t.teardown(() => agent.destroy());
    const call = async (session: string, model: string, stream: boolean): Promise<void> => {
      ends.set(session, await sendLoadCall({ agent, port: proxy.port, session, model, stream }));
    };
    const held = Array.from({ length: HELD }, (_, n) => call(`held-${n}`, 'demo-hold', n % 2 === 0));
    await demo.waitFor(HELD);
    disk.fill();

    const refusal = await until(proxy, (answer) => answer.status === 503);
    t.match(JSON.parse(refusal.text), { error: { code: 'journal_unwritable' } });
    t.equal(refusal.headers['retry-after'], '5');
    await Promise.all(Array.from({ length: 300 }, (_, n) => call(`late-${n}`, 'demo', n % 2 === 0)));
    t.equal((await send(proxy.url, 'GET', '/health/liveness')).status, 200);
    t.match(JSON.parse((await send(proxy.url, 'GET', '/health/readiness')).text), { reason: /ENOSPC/ });
    const seen = demo.seen.length;
    demo.release();
    await Promise.all(held);
    t.same(
      Array.from({ length: HELD }, (_, n) => ends.get(`held-${n}`)).filter((one) => one !== 'whole'),
      [],
      'calls under way end as if nothing had happened',
    );
    t.equal(demo.seen.length, seen, 'nothing went upstream without a record');

    let last = proxy;
    if (end === 'there is room again') {
      disk.free();
      await until(proxy, (answer) => answer.status === 200);
    } else {
      proxy.kill(end.startsWith('SIGTERM') ? 'SIGTERM' : 'SIGKILL');
      await proxy.ended;
      disk.free();
      last = await start();
    }
    const rows = JSON.parse((await send(last.url, 'GET', '/spend/logs')).text) as Row[];
    const bySession = Map.groupBy(rows, (row) => String(row['session_id']));
    const sessions = demo.seen.map(({ rawHeaders }) => headerOf(rawHeaders, 'x-litellm-session-id') ?? '');
    t.same(
      sessions.filter((session) => bySession.get(session)?.length !== 1),
      [],
      'each accepted call has one row',
    );
    t.same(
      [...ends].filter(
        ([session, how]) => how === 'whole' && bySession.get(session)?.[0]?.['status'] !== 'success',
      ),
      [],
      'each whole answer is a success',
    );
    if (last === proxy) {
      // What waited in memory is written behind the first call that is served again.
      const metrics = await metricsOnce(proxy, (text) => /^throughline_spend_rows_at_risk 0$/m.test(text));
      t.match(metrics, /^throughline_journal_reserve_bytes [1-9]/m, 'there is a reserve again');
      t.match(metrics, /^throughline_log_lines_dropped_total 0$/m);
    }
    last.kill('SIGTERM');
    t.equal((await last.ended).code, 0);
    if (last !== proxy) return;
    const lines = readFileSync(log, 'utf8').trimEnd().split('\n');
    const isJson = (line: string): boolean => line.startsWith('{"level"') && line.endsWith('}');
    t.ok(lines.filter(isJson).length > HELD, 'the log has what waited');
    t.ok(
      lines.filter((line) => !isJson(line)).length <= Number(workers),
      'at most one torn line of each process',
    );
  });
}

/** Reads the metrics until they are as wanted. */
async function metricsOnce(proxy: Proxy, isWanted: (text: string) => boolean): Promise<string> {
  for (;;) {
    const { text } = await send(proxy.url, 'GET', '/metrics');
    if (isWanted(text)) return text;
    await beforeNextLook();
  }
}

/** Calls until an answer is as wanted: the last free page takes some rows, and room is noticed some time later. */
async function until(proxy: Proxy, isWanted: (answer: Awaited<ReturnType<typeof send>>) => boolean) {
  for (;;) {
    const answer = await send(proxy.url, 'POST', '/v1/chat/completions', CHAT, {
      'x-litellm-session-id': crypto.randomUUID(),
    });
    if (isWanted(answer)) return answer;
  }
}
