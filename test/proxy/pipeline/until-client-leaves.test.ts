// What is waited for comes, the client leaves, or the proxy stops: whichever is first, and nothing is listened to afterwards.
import t from 'tap';
import { Fault } from '../../../proxy/errors/fault.ts';
import type { ResponseWatcher } from '../../../proxy/downstream/downstream-response.ts';
import { untilClientLeaves } from '../../../proxy/pipeline/until-client-leaves.ts';

/** As much of a reply as is listened to. */
class Listened {
  watcher: ResponseWatcher | null = null;
  destroyed = false;
  interrupted: Fault | null = null;
}

const never = (): Promise<never> => new Promise(() => undefined);

t.test('what is waited for comes', async (t) => {
  const reply = new Listened();
  const { promise, resolve } = Promise.withResolvers<string>();
  const waiting = untilClientLeaves(reply, { done: promise, abandon: () => t.fail('nobody left') }, 'w');
  t.not(reply.watcher, null);
  reply.watcher?.onDrain();
  resolve('turn');
  t.same(await waiting, { kind: 'done', value: 'turn' });
  t.equal(reply.watcher, null);
});

t.test('the client leaves: what was waited for is abandoned in the same instant', async (t) => {
  const reply = new Listened();
  let abandoned = 0;
  const awaited = { done: never(), abandon: () => void (abandoned += 1) };
  const waiting = untilClientLeaves(reply, awaited, 'its call waited');
  reply.watcher?.onClose();
  t.equal(abandoned, 1, 'before anything else happens');
  t.match(await waiting, {
    kind: 'left',
    why: { code: 'client_gone', message: 'The client left while its call waited.' },
  });
  t.equal(reply.watcher, null);
});

t.test('the proxy stops: the reason that it gives is the reason', async (t) => {
  const reply = new Listened();
  const waiting = untilClientLeaves(reply, { done: never() }, 'w');
  const fault = new Fault('shutting_down', 'The proxy is stopping.');
  reply.interrupted = fault;
  reply.watcher?.onInterrupt(fault);
  const end = await waiting;
  t.ok(end.kind === 'left' && end.why === fault);
});

t.test('nobody waits for a client that has left before, nor for a proxy that is stopping', async (t) => {
  const gone = new Listened();
  gone.destroyed = true;
  t.match(await untilClientLeaves(gone, { done: never() }, 'w'), { why: { code: 'client_gone' } });
  const stopping = new Listened();
  stopping.interrupted = new Fault('shutting_down', 'The proxy is stopping.');
  t.match(await untilClientLeaves(stopping, { done: never() }, 'w'), { why: { code: 'shutting_down' } });
});

t.test('what fails while it is waited for fails the wait, and nothing is listened to any more', async (t) => {
  const reply = new Listened();
  await t.rejects(untilClientLeaves(reply, { done: Promise.reject(new Error('broken')) }, 'w'), /broken/);
  t.equal(reply.watcher, null);
});
