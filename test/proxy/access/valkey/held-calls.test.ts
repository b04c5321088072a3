// What this server holds in shared counters, and what they would be told of it: without a server that hears it.
import t from 'tap';
import type { CounterName, ReservingCall, SettledCall } from '../../../../proxy/access/counters.ts';
import { HeldCalls } from '../../../../proxy/access/valkey/held-calls.ts';
import { JsonTexts, nameOf } from '../../../../proxy/access/valkey/json-texts.ts';
import type { Operation, PendingOperations } from '../../../../proxy/access/valkey/pending-operations.ts';
import { unconnected } from './fixture/unconnected.ts';

const TEAM: CounterName = { budget: 'team:a', windowStartMs: 0 };
const LIMIT = 'key:k';

/** A call that reserves 7 of a budget and a place of a limit. */
const call = (requestId: string): ReservingCall => ({
  requestId,
  pico: 7n,
  budgets: [{ ...TEAM, capPico: 100n }],
  limits: [{ kind: 'parallel', limit: LIMIT, most: 2 }],
});
const ended = (requestId: string, pico: bigint): SettledCall => ({
  requestId,
  tokens: null,
  spent: [{ ...TEAM, pico }],
});

function made(): { readonly held: HeldCalls; readonly pending: PendingOperations } {
  const pending = unconnected('one');
  return { pending, held: new HeldCalls({ server: 'one', texts: new JsonTexts(), pending }) };
}

/** Kind and call of each operation; the last member of `g` says whether its places are free. */
const shown = (operations: string): string[] =>
  (JSON.parse(operations) as (string | boolean)[][]).map(([kind, id, ...rest]) =>
    kind === 'g' ? `g ${String(id)} ${String(rest.at(-1))}` : `${String(kind)} ${String(id)}`,
  );
const waiting = (pending: PendingOperations): string[] => {
  const carried = pending.carried();
  carried?.done(false);
  return shown(carried?.operations ?? '[]');
};
const told = (operations: readonly Operation[]): string[] =>
  shown(`[${operations.map(({ text }) => text).join()}]`);

t.test('a call holds what it reserved until it is settled, and its places until they are released', (t) => {
  const { held } = made();
  held.hold(call('1'), 'shared');
  held.hold(call('2'), 'shared');
  t.equal(held.size, 2);
  t.equal(held.reserved(TEAM), 14n);
  t.equal(held.places(LIMIT), 2);
  t.equal(held.release('1'), 'shared');
  t.equal(held.places(LIMIT), 1);
  t.equal(held.reserved(TEAM), 14n, 'what it may cost is held on');
  held.settle(ended('1', 3n));
  t.equal(held.size, 1);
  t.equal(held.reserved(TEAM), 7n);
  t.equal(held.holderOf('1'), null);
  t.equal(held.reserved({ ...TEAM, windowStartMs: 1 }), 0n, 'another window is another counter');
  t.end();
});

t.test('free places are told once, and not at all when the end of the call says so first', (t) => {
  const { held, pending } = made();
  held.hold(call('1'), 'shared');
  t.equal(held.release('1'), 'shared');
  t.equal(held.release('1'), null);
  t.equal(held.release('unknown'), null);
  t.same(waiting(pending), ['f 1']);
  held.settle(ended('1', 3n));
  t.same(waiting(pending), ['f 1'], 'the row may still be lost');
  held.journaled('1');
  held.journaled('1');
  t.same(waiting(pending), ['s 1']);
  t.end();
});

t.test('places can be released between the end of a call and its row', (t) => {
  const { held, pending } = made();
  held.hold(call('1'), 'shared');
  held.settle(ended('1', 3n));
  t.equal(held.release('1'), 'shared');
  held.journaled('1');
  t.same(waiting(pending), ['s 1']);
  t.end();
});

t.test('what a call did cost is untold from its end on, before its row and after it', (t) => {
  const { held } = made();
  held.hold(call('1'), 'shared');
  held.settle(ended('1', 3n));
  held.settle(ended('never let in', 5n));
  held.settle(ended('refused', 0n));
  t.equal(held.untold(TEAM), 8n);
  held.journaled('1');
  t.equal(held.untold(TEAM), 8n);
  t.same([...held.untoldIn(nameOf(TEAM)).keys()].sort(), ['1', 'never let in']);
  t.end();
});

t.test('a call that was let in alone holds nothing of the shared counters until they are told of it', (t) => {
  const { held, pending } = made();
  held.hold(call('1'), 'alone');
  held.hold(call('1'), 'shared');
  t.equal(held.holderOf('1'), 'alone', 'who let it in first');
  t.equal(held.reserved(TEAM), 0n);
  t.equal(held.places(LIMIT), 0);
  held.keepPlaces();
  t.same(waiting(pending), []);
  held.tellAlone();
  held.tellAlone();
  t.same(waiting(pending), ['g 1 false'], 'once');
  t.equal(held.holderOf('1'), 'both');
  t.end();
});

t.test('released while counted alone, it is told with free places', (t) => {
  const { held, pending } = made();
  held.hold(call('1'), 'alone');
  t.equal(held.release('1'), 'alone');
  t.same(waiting(pending), []);
  held.tellAlone();
  t.same(waiting(pending), ['g 1 true']);
  t.end();
});

t.test('when counters are shared again, what was let in alone is handed over once', (t) => {
  const { held, pending } = made();
  held.hold(call('shared'), 'shared');
  held.hold(call('alone'), 'alone');
  held.hold(call('both'), 'alone');
  held.tellAlone();
  held.hold(call('late'), 'alone');
  const handedOver: string[] = [];
  held.share((id) => handedOver.push(id));
  held.share((id) => handedOver.push(id));
  t.same(handedOver.sort(), ['alone', 'both', 'late']);
  t.same(waiting(pending), ['g alone false', 'g both false', 'g late false']);
  t.equal(held.reserved(TEAM), 28n);
  t.end();
});

t.test('a new generation is told of all, also of ended calls without a row', (t) => {
  const { held } = made();
  held.hold(call('runs'), 'shared');
  held.hold(call('alone'), 'alone');
  held.hold(call('ended'), 'shared');
  held.release('ended');
  held.settle(ended('ended', 1n));
  held.settle(ended('never let in', 1n));
  t.same(told(held.takeOverAll()).sort(), ['g alone false', 'g ended true', 'g runs false']);
  t.equal(held.holderOf('alone'), 'both');
  t.end();
});

t.test('only taken places of running calls are kept', (t) => {
  const { held, pending } = made();
  for (const id of ['runs', 'released', 'ended']) held.hold(call(id), 'shared');
  held.hold({ ...call('without'), limits: [] }, 'shared');
  held.release('released');
  held.settle(ended('ended', 1n));
  held.keepPlaces();
  t.same(waiting(pending), ['f released', 'k runs']);
  t.end();
});
