// Real processes, looked at by hand in place of once a second.
import cluster from 'node:cluster';
import { resolve } from 'node:path';
import t, { type Test } from 'tap';
import { StuckWorkers, STUCK_LOOKS } from '../../../proxy/cluster/stuck-workers.ts';
import { WorkerProcess } from '../../../proxy/cluster/worker-process.ts';
import { openLog } from '../../../proxy/observability/logger.ts';

async function started(t: Test, number: number): Promise<WorkerProcess> {
  cluster.setupPrimary({
    exec: resolve(import.meta.dirname, 'fixture/worker.ts'),
    args: [],
    serialization: 'advanced',
  });
  const worker = new WorkerProcess(number);
  t.teardown(async () => {
    if (!worker.gone) worker.kill();
    await worker.ended;
  });
  await worker.channel.ask('ping', null);
  return worker;
}

t.test(
  'a worker that stopped is killed after so many looks, and said once; the other one lives',
  async (t) => {
    const lines: string[] = [];
    const stuck = new StuckWorkers(openLog('info', { write: (line) => void lines.push(line) }).log);
    const [stopped, other] = [await started(t, 1), await started(t, 2)];
    process.kill(stopped.pid, 'SIGSTOP');
    for (let looks = 0; looks <= STUCK_LOOKS; looks += 1) {
      t.equal(lines.length, 0, `look ${looks}`);
      stuck.look([stopped, other], true);
      await other.channel.ask('ping', null); // asked after the question of the look, so that one is answered
    }
    t.same(await stopped.ended, { code: null, signal: 'SIGKILL' });
    stuck.look([stopped], true);
    t.match(lines, [
      /"worker":1,"pid":\d+,"silent_ms":60000,"msg":"a worker is stuck; it is killed and replaced"/,
    ]);
    t.equal(lines.length, 1);
    t.notOk(other.gone);
  },
);

t.test('a worker that answers late lives', async (t) => {
  const stuck = new StuckWorkers(openLog('silent').log);
  const worker = await started(t, 3);
  for (let times = 0; times < 3; times += 1) {
    process.kill(worker.pid, 'SIGSTOP');
    for (let looks = 0; looks < STUCK_LOOKS; looks += 1) stuck.look([worker], false);
    process.kill(worker.pid, 'SIGCONT');
    await worker.channel.ask('ping', null);
  }
  t.notOk(worker.gone);
});
