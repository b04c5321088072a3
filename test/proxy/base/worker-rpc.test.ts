// Calls to a worker thread: values, errors, buffers that are moved, and what becomes of calls when the thread dies.
import t from 'tap';
import type { Test } from 'tap';
import { keepThreads, workerFile, WorkerRpc, type ErrorData } from '../../../proxy/base/worker-rpc.ts';
import type { KeptCalls } from './fixture/kept-worker.ts';
import type { TestCalls } from './fixture/rpc-worker.ts';

function toError({ name, message, code }: ErrorData): Error {
  return Object.assign(new Error(message), { name, code: code ?? 'none' });
}

interface Opened {
  readonly rpc: WorkerRpc<TestCalls, string>;
  readonly events: string[];
  readonly lost: string[];
}

function open(t: Test, data?: () => unknown): Opened {
  const [events, lost]: [string[], string[]] = [[], []];
  const rpc = new WorkerRpc<TestCalls, string>({
    file: workerFile('./fixture/rpc-worker', import.meta.url),
    name: 'test-rpc',
    ...(data === undefined ? {} : { data }),
    env: { GIVEN: '1' },
    toError,
    onEvent: (event) => events.push(event),
    onLost: (error) => lost.push(error.message),
  });
  t.teardown(() => rpc.close());
  return { rpc, events, lost };
}

t.test('calls return values, each to its caller, however the answers overtake each other', async (t) => {
  const { rpc } = open(t, () => ({ file: 'x' }));
  const slow = rpc.calls.wait();
  t.same(await Promise.all([rpc.calls.add(1, 2), rpc.calls.add(3, 4)]), [3, 7]);
  await rpc.calls.release();
  t.equal(await slow, 'released');
  t.same(await rpc.calls.data(), { file: 'x' });
});

t.test('the thread sees nothing of the environment but what it is given', async (t) => {
  const { rpc } = open(t);
  const names = (await rpc.calls.environment()).filter((name) => name !== 'NODE_COMPILE_CACHE');
  t.same(names, ['GIVEN']);
});

t.test('errors arrive with their name, message and code', async (t) => {
  const { rpc } = open(t);
  await t.rejects(rpc.calls.fail('E_ROW'), { name: 'RangeError', message: 'no such row', code: 'E_ROW' });
  await t.rejects(rpc.calls.fail(null), { name: 'RangeError', code: 'none' });
  await t.rejects(rpc.calls.uncloneable(), { name: 'DataCloneError' }, 'a value that cannot travel');
  const unknown = rpc.calls as unknown as { other(): Promise<void> };
  await t.rejects(unknown.other(), { message: 'seen: the worker has no method other' });
  t.equal(await rpc.calls.add(1, 1), 2, 'the thread lives on');
});

t.test('an argument that cannot travel rejects, and others do travel', async (t) => {
  const { rpc } = open(t);
  await t.rejects(rpc.calls.add(1, (() => 2) as unknown as number), { name: 'DataCloneError' });
  t.equal(await rpc.calls.add(1, 1), 2);
});

t.test('buffers can be moved in place of being copied', async (t) => {
  const { rpc } = open(t);
  const part = new Uint8Array(1000);
  t.equal(await rpc.transfer('bytes', [part], [part.buffer]), 1000);
  t.equal(part.byteLength, 0, 'it is the thread’s now');
});

t.test(
  'a thread without calls ends, one that works does not, and the next call starts another',
  async (t) => {
    const closed: (() => void)[] = [];
    const lost: string[] = [];
    const rpc = new WorkerRpc<TestCalls, string>({
      file: workerFile('./fixture/rpc-worker', import.meta.url),
      name: 'test-idle',
      idleMs: 1,
      toError,
      onEvent: (event) => event === 'closed' && closed.shift()?.(),
      onLost: (error) => lost.push(error.message),
    });
    t.teardown(() => rpc.close());
    const ended = (): Promise<void> => new Promise((settle) => closed.push(settle));

    const isFirstOver = ended();
    const first = await rpc.calls.thread();
    await isFirstOver;
    const slow = rpc.calls.wait();
    const second = await rpc.calls.thread();
    t.not(second, first);
    for (let i = 0; i < 20; i += 1) await rpc.calls.add(i, i);
    t.equal(await rpc.calls.thread(), second, 'a call was pending all the time');
    const isSecondOver = ended();
    await Promise.all([rpc.calls.release(), slow]);
    await isSecondOver;
    t.same(lost, []);
    await rpc.close();
    await t.rejects(rpc.calls.thread(), { name: 'WorkerClosed' });
  },
);

t.test('a thread that crashes or exits rejects what waits, and the next call starts another', async (t) => {
  const { rpc, lost } = open(t);
  const waiting = rpc.calls.wait();
  waiting.catch(() => undefined);
  await t.rejects(rpc.calls.crash(), { name: 'WorkerLost', message: 'out of luck' });
  await t.rejects(waiting, { name: 'WorkerLost' });
  t.equal(await rpc.calls.add(2, 2), 4);
  await t.rejects(rpc.calls.stop(), { message: 'it ended with code 7' });
  t.equal(await rpc.calls.add(2, 3), 5);
  t.same(lost, ['out of luck', 'it ended with code 7'], 'each is told once');
});

t.test('a thread that cannot be started rejects the call, and the next one tries again', async (t) => {
  let isFull = true;
  const { rpc } = open(t, () => {
    if (isFull) throw new Error('EAGAIN'); // as the system does where no further thread may be
    return {};
  });
  const call = rpc.calls.add(1, 1);
  await t.rejects(call, { name: 'WorkerLost', message: /^it cannot be started \(EAGAIN\)/ });
  isFull = false;
  t.equal(await rpc.calls.add(1, 1), 2);
});

t.test('terminate rejects what waits and is not told as a loss', async (t) => {
  const { rpc, lost } = open(t);
  const waiting = t.rejects(rpc.calls.wait(), { name: 'WorkerLost', message: 'it was ended' });
  await rpc.terminate();
  await waiting;
  t.equal(await rpc.calls.add(1, 2), 3);
  t.same(lost, []);
});

t.test('close lets the worker close, rejects what waits and refuses later calls', async (t) => {
  const { rpc, events, lost } = open(t);
  await rpc.calls.tell('begun');
  const waiting = t.rejects(rpc.calls.wait(), { name: 'WorkerClosed' });
  await rpc.calls.close();
  await waiting;
  await rpc.close();
  t.same(events, ['begun', 'closed']);
  t.same(lost, []);
  await t.rejects(rpc.calls.add(1, 2), { name: 'WorkerClosed' });
});

t.test('a client that was never used closes without a thread', async (t) => {
  const { rpc, events } = open(t);
  await rpc.close();
  t.same(events, []);
});

t.test(
  'a thread that was closed in order serves the next client with its data, where threads are kept',
  async (t) => {
    keepThreads();
    const open = (data: string, name = 'kept') => {
      const lost: string[] = [];
      const rpc = new WorkerRpc<KeptCalls>({
        file: workerFile('./fixture/kept-worker', import.meta.url),
        name,
        data: () => data,
        toError,
        onLost: (error) => lost.push(error.message),
      });
      t.teardown(() => rpc.close());
      return { rpc, lost };
    };
    const first = open('first');
    const { thread, data } = await first.rpc.calls.who();
    t.equal(data, 'first');
    await first.rpc.close();

    const [second, beside] = [open('second'), open('beside')];
    t.same(await second.rpc.calls.who(), { thread, data: 'second' });
    t.not((await beside.rpc.calls.who()).thread, thread, 'two clients at a time have two threads');
    t.not((await open('other', 'other name').rpc.calls.who()).thread, thread);
    t.same([first.lost, second.lost], [[], []]);

    second.rpc.calls.wait().catch(() => undefined);
    await second.rpc.close();
    const third = open('third');
    t.not((await third.rpc.calls.who()).thread, thread, 'one that might still answer a call is ended');

    await third.rpc.terminate();
    t.same((await third.rpc.calls.who()).data, 'third', 'a thread that was lost is replaced');
  },
);
