// Scores, tickets and room: what every strategy stands on.
import t from 'tap';
import { byScore, ticket, hasCapacity } from '../../../proxy/routing/routable.ts';
import { DeploymentHealth } from '../../../proxy/routing/deployment-health.ts';

t.test('lowest score first, equal ones in the order in which they came', async (t) => {
  const scores = { a: 2, b: Infinity, c: 1, d: 2, e: Infinity, f: 0 };
  const given = ['a', 'b', 'c', 'd', 'e', 'f'] as const;
  t.equal(byScore(given, (id) => scores[id]).join(''), 'fcadbe');
  t.equal(given.join(''), 'abcdef', 'what was handed in is as before');
});

t.test('a ticket is drawn by weight; without one it never wins', async (t) => {
  t.equal(ticket(0, 1), 0);
  t.equal(ticket(0.5, 1), Math.LN2);
  t.equal(ticket(0.5, 2), Math.LN2 / 2);
  for (const uniform of [0, 0.5, 0.999]) t.equal(ticket(uniform, 0), Infinity);
});

t.test('calls under way and places that are held count against the limit', async (t) => {
  const health = new DeploymentHealth();
  const room = (limit: number): boolean => hasCapacity({ seed: 0, weight: 1, order: 0, limit, health });
  t.same([room(0), room(1), room(Infinity)], [false, true, true]);
  health.inFlight = 1;
  t.same([room(1), room(2)], [false, true]);
  health.reserved = 1;
  t.same([room(2), room(3)], [false, true]);
});
