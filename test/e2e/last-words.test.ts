// The real program is stopped while all its cores are busy and many streams run: each client gets the error event of its
// protocol before it is cut, and each row is there afterwards.
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import { startDemoGateway } from '../../proxy/demo-gateway/demo-gateway.ts';
import { openCall, type OpenCall } from '../support/call.ts';
import { folder, serveCli } from '../support/cli.ts';
import { defaultConfig } from '../support/rig.ts';
import { allRows, CLOSE_MS, ledgerOf } from '../proxy/spend/journal/fixture/ledgers.ts';

const STREAMS = 30;
const PROMPT = 'Tell me about the sea. '.repeat(500);
const CHAT = { model: 'demo-stall', stream: true, messages: [{ role: 'user', content: PROMPT }] };
/** Its error event begins so, and nothing follows it. */
const APIS = [
  {
    path: '/v1/chat/completions',
    body: CHAT,
    event: /\n\ndata: \{"error":\{[^\n]*"code":"shutting_down"[^\n]*\}\n\n$/,
  },
  {
    path: '/v1/messages',
    body: { ...CHAT, max_tokens: 9 },
    event: /\n\nevent: error\ndata: \{"type":"error","error":\{[^\n]*"code":"shutting_down"[^\n]*\}\n\n$/,
  },
  {
    path: '/v1/responses',
    body: { model: 'demo-stall', stream: true, input: PROMPT },
    event: /\n\nevent: error\ndata: \{"type":"error","code":"shutting_down"[^\n]*\}\n\n$/,
  },
] as const;

/** Loops that take the cores away. @returns what ends them; the end of the test does, too */
function busyCores(t: Test): () => void {
  const loops = Array.from({ length: availableParallelism() }, () =>
    spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }),
  );
  const end = (): void => loops.forEach((loop) => void loop.kill('SIGKILL'));
  t.teardown(end);
  return end;
}

interface Stream {
  readonly call: OpenCall;
  readonly api: (typeof APIS)[number];
}

for (const { name, drainSeconds, signals, workers } of [
  { name: 'at the end of drain_seconds', drainSeconds: 0.2, signals: 1, workers: '1' },
  { name: 'at a second SIGTERM', drainSeconds: 600, signals: 2, workers: '1' },
  { name: 'at a second SIGTERM, with workers', drainSeconds: 600, signals: 2, workers: '2' },
]) {
  t.test(`${name} each of ${STREAMS} streams ends with its error event`, async (t) => {
    const demo = await startDemoGateway({});
    t.teardown(() => demo.close());
    const dir = folder(t);
    const config = join(dir, 'gateway.yaml');
    writeFileSync(config, defaultConfig(demo, `  drain_seconds: ${drainSeconds}\n`));
    const proxy = await serveCli(t, config, join(dir, 'data'), ['--workers', workers]);
    const streams: readonly Stream[] = Array.from({ length: STREAMS }, (_, n) => {
      const api = APIS[n % APIS.length] ?? APIS[0];
      return { api, call: openCall(proxy.url, api.path, api.body, { 'x-litellm-session-id': `s-${n}` }) };
    });
    await Promise.all(streams.map(({ call }) => call.received('data:')));
    const endLoops = busyCores(t);
    const ends = Promise.allSettled(streams.map(({ call }) => call.received('shutting_down')));
    proxy.kill('SIGTERM');
    await proxy.said(/"msg":"stopping"/);
    if (signals > 1) proxy.kill('SIGTERM');
    const texts = await ends;
    if (signals > 1) endLoops(); // the first case shows what a busy end does to the rows
    const untold = texts.filter(({ status }) => status === 'rejected').length;
    t.equal(untold, 0, `${untold} of ${STREAMS} streams were cut without a word`);
    const odd = texts.filter(
      (end, n) => end.status === 'fulfilled' && streams[n]?.api.event.test(end.value) !== true,
    );
    t.same(odd, [], 'each in the grammar of its protocol, and nothing behind it');
    t.equal((await proxy.ended).code, 0);
    endLoops();

    const { ledger } = await ledgerOf(t, join(dir, 'data'));
    const rows = await allRows(ledger);
    t.equal(rows.length, STREAMS);
    t.same([...new Set(rows.map(({ endReason }) => endReason))], ['stopped']);
    t.ok(
      rows.every(({ tokens }) => Number(tokens.prompt) > 0),
      'what was used is estimated',
    );
    await ledger.close(CLOSE_MS);
  });
}
