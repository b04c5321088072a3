// Questions and answers between processes, over a real IPC-like pair of ports.
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import t from 'tap';
import type { Test } from 'tap';
import { Channel, NoAnswer, type Port } from '../../../proxy/cluster/channel.ts';

type Ours = { double: { readonly args: number; readonly value: number } };
type Theirs = {
  names: { readonly args: ReadonlyMap<string, number>; readonly value: readonly string[] };
  never: { readonly args: null; readonly value: null };
  wrong: { readonly args: null; readonly value: null };
};

/** Structured clones over a message port, as IPC sends them. */
const portOf = (port: MessagePort): Port => ({
  send: (message) => port.postMessage(message),
  on: (event: 'message' | 'disconnect', act: (message?: unknown) => void) =>
    port.on(event === 'message' ? 'message' : 'close', act),
});

function pair(t: Test): {
  here: Channel<Theirs, Ours>;
  there: Channel<Ours, Theirs>;
  cut: () => void;
} {
  const { port1, port2 } = new MessageChannel();
  t.teardown(() => port1.close());
  return {
    here: new Channel(portOf(port1)),
    there: new Channel(portOf(port2)),
    cut: () => port2.close(),
  };
}

t.test('both sides ask; a question waits until there is somebody to answer it', async (t) => {
  const { here, there } = pair(t);
  const early = here.ask('names', new Map([['a', 1]]));
  here.answer({ double: (n) => n * 2 });
  t.equal(await there.ask('double', 21), 42);
  there.answer({
    names: async (map) => [...map.keys()],
    never: () => new Promise(() => undefined),
    wrong: () => {
      throw new Error('it is wrong - mend it');
    },
  });
  t.same(await early, ['a']);
  await t.rejects(here.ask('wrong', null), { message: 'it is wrong - mend it' });
  await t.rejects(here.ask('never', null, 10), { name: 'NoAnswer', gone: false });
});

t.test('when the other side is gone, what was asked and what is asked later is rejected', async (t) => {
  const { here, there, cut } = pair(t);
  there.answer({ names: () => [], never: () => new Promise(() => undefined), wrong: () => null });
  t.same(await here.ask('names', new Map()), []);
  const open = here.ask('never', null);
  cut();
  await t.rejects(open, { name: 'NoAnswer', gone: true });
  await t.rejects(here.ask('never', null), NoAnswer);
});
