import t from 'tap';
import { DetachedStreams, type DetachedStream } from '../../../proxy/relay/detached-streams.ts';

t.test('there are at most so many; each place is free again afterwards', (t) => {
  const streams = new DetachedStreams();
  const [one, two] = [{ giveUp: () => undefined }, { giveUp: () => undefined }];
  t.notOk(streams.add(one, 0));
  t.ok(streams.add(one, 1));
  t.notOk(streams.add(two, 1));
  t.equal(streams.size, 1);
  streams.delete(two);
  t.equal(streams.size, 1, 'one that was refused takes no place');
  streams.delete(one);
  t.ok(streams.add(two, 1));
  t.end();
});

t.test('all are given up when the proxy stops, also while they remove themselves', (t) => {
  const streams = new DetachedStreams();
  const givenUp: string[] = [];
  const named = (name: string): DetachedStream => {
    const stream = {
      giveUp: (): void => {
        givenUp.push(name);
        streams.delete(stream);
      },
    };
    return stream;
  };
  for (const name of ['a', 'b', 'c']) t.ok(streams.add(named(name), 3));
  streams.giveUp();
  t.same(givenUp, ['a', 'b', 'c']);
  t.equal(streams.size, 0);
  t.end();
});
