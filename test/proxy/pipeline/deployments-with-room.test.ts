// Where a call may still go when budgets of deployments refuse it.
import t from 'tap';
import { NO_BUDGET } from '../../../proxy/access/objects/objects.ts';
import { capsOf, type Cap } from '../../../proxy/access/budgets/caps.ts';
import { DeploymentsWithRoom } from '../../../proxy/pipeline/deployments-with-room.ts';

function cap(id: string): Cap {
  const [one] = capsOf({ kind: 'deployment', id }, { ...NO_BUDGET, maxBudget: 1 });
  if (one === undefined) throw new Error('no cap');
  return one;
}

const KEY = cap('key');
const OWN = new Map(['a', 'b', 'c'].map((name) => [name, cap(name)]));
const own = (name: string): Cap => OWN.get(name) ?? KEY;

interface Named {
  readonly name: string;
  readonly caps: readonly Cap[];
}

/** Each has the budget of the key and one of its own. */
const named = (name: string): Named => ({ name, caps: [KEY, own(name)] });

interface Given {
  readonly full?: readonly string[];
  readonly unable?: readonly string[];
}

function among(all: readonly Named[], { full = [], unable = [] }: Given = {}) {
  const deployments = new DeploymentsWithRoom(all, {
    hasRoom: ({ name }) => !full.includes(name),
    isAble: ({ name }) => !unable.includes(name),
  });
  const choose = () => {
    const { caps, without } = deployments.choose();
    return { caps: caps.map(({ counter }) => counter), without: without.map(({ name }) => name) };
  };
  return { choose, avoid: (one: Cap) => deployments.avoid(one) };
}

const counters = (...names: readonly string[]): string[] =>
  ['key', ...names].map((name) => own(name).counter);
const ALL = ['a', 'b', 'c'].map(named);

t.test('every budget of every deployment is asked once', async (t) => {
  t.same(among(ALL).choose(), { caps: counters('a', 'b', 'c'), without: [] });
  t.same(among([named('a')]).choose(), { caps: counters('a'), without: [] });
  t.same(among([]).choose(), { caps: [], without: [] });
});

t.test('the call goes where the budget that refused does not hold', async (t) => {
  const { choose, avoid } = among(ALL);
  choose();
  t.equal(avoid(own('a')), true);
  t.same(choose(), { caps: counters('b', 'c'), without: ['a'] });
  t.equal(avoid(own('c')), true);
  t.same(choose(), { caps: counters('b'), without: ['a', 'c'] });
  t.equal(avoid(own('b')), false, 'none is left');
});

t.test('a budget that holds for each of them ends the call', async (t) => {
  const { choose, avoid } = among(ALL);
  choose();
  t.equal(avoid(KEY), false);
});

t.test('one that is known to have no room is not asked while another has some', async (t) => {
  t.same(among(ALL, { full: ['a'] }).choose(), { caps: counters('b', 'c'), without: ['a'] });
});

t.test('where none has room all are asked, and the first that refuses says why', async (t) => {
  const { choose, avoid } = among(ALL, { full: ['a', 'b', 'c'] });
  t.same(choose(), { caps: counters('a', 'b', 'c'), without: [] });
  t.equal(avoid(own('b')), false);
});

t.test('one that cannot be told the call is no way out, and no reason against the others', async (t) => {
  const { choose, avoid } = among(ALL, { unable: ['b', 'c'] });
  t.same(choose(), { caps: counters('a', 'b', 'c'), without: [] }, 'the failover plan knows of it');
  t.equal(avoid(own('a')), true);
  t.same(choose(), { caps: counters('a', 'b', 'c'), without: [] }, 'nothing is left: all are asked');
  t.equal(avoid(own('a')), false);
});
