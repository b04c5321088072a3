// What budgets and limits add to a call, alone: the steps for them in one process, without sockets and records; and the memory of
// 100,000 keys that have them.
import { join } from 'node:path';
import type { AccessSteps } from '../access-steps.ts';
import { fixed } from '../harness/measure.ts';
import { ROOT } from '../harness/peers.ts';
import { Program } from '../harness/processes.ts';
import type { Scenario } from '../harness/scenario.ts';

export const keysSteps: Scenario = {
  name: 'keys-steps',
  about: 'budgets and limits alone: CPU of their steps, memory of 100,000 keys',
  run: async (bench) => {
    const keys = bench.wanted.quick ? 2_000 : 100_000;
    const calls = bench.count(20_000, 1_000);
    const rounds = Math.max(3, bench.wanted.rounds);
    const script = join(ROOT, 'bench/access-steps.ts');
    const args = ['--expose-gc', script, String(keys), String(calls), String(rounds)];
    const program = new Program(process.execPath, args, 'ignore', true);
    try {
      const { steps, objectsMb, countedMb } = await new Promise<AccessSteps>((resolve, reject) => {
        program.child.once('message', (message) => resolve(message as AccessSteps));
        program.child.once('exit', () => reject(new Error(`the steps ended early: ${program.text}`)));
      });
      const [none] = steps;
      return [
        {
          title: `Budgets and limits alone: ${keys} keys, ${calls} calls a round, ${rounds} rounds`,
          columns: ['', 'CPU us, median', 'least', 'more than without, least'],
          rows: steps.map(({ name, medianUs, leastUs }) => [
            name,
            fixed(medianUs, 1),
            fixed(leastUs, 1),
            fixed(leastUs - (none?.leastUs ?? NaN), 1),
          ]),
          notes: [
            'Two budgets and six limits a call, of the key and of its team: estimate of the prompt, price, reservation, headers, settlement.',
            `Live memory of the keys and teams: ${fixed(objectsMb, 0)} MB; with the counters of every key that has called: ${fixed(countedMb, 0)} MB.`,
          ],
        },
      ];
    } finally {
      program.stop();
    }
  },
};
