// Rendezvous hashing: sessions spread by weight, and an entry that goes or comes moves its own share alone.
import fc from 'fast-check';
import t from 'tap';
import { DeploymentHealth } from '../../../proxy/routing/deployment-health.ts';
import { seedOf, sessionAffinity } from '../../../proxy/routing/session-affinity.ts';

const deployment = (id: string, weight = 1) => ({
  id,
  weight,
  seed: seedOf(id),
  order: 0,
  limit: Infinity,
  health: new DeploymentHealth(),
});

const SESSIONS = Array.from({ length: 20_000 }, (_, i) => `session-${i}`);
const ownerOf = (deployments: readonly ReturnType<typeof deployment>[], session: string): string =>
  sessionAffinity(deployments, session)[0]?.id ?? '';

t.test('of n entries one goes away: its sessions move, and no others', async (t) => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.string({ minLength: 1, maxLength: 64 }), { minLength: 2, maxLength: 8 }),
      fc.nat(),
      (names, pick) => {
        const deployments = names.map((name) => deployment(name));
        const gone = deployments[pick % deployments.length] as (typeof deployments)[number];
        const left = deployments.filter((one) => one !== gone);
        let moved = 0;
        for (const session of SESSIONS) {
          const before = ownerOf(deployments, session);
          if (before === gone.id) moved += 1;
          else if (ownerOf(left, session) !== before) return false;
        }
        return Math.abs(moved / SESSIONS.length - 1 / deployments.length) < 0.02;
      },
    ),
    { numRuns: 10 },
  );
  t.pass('property held');
});

t.test(
  'the sessions of an entry that went away are shared out among the others, not given to one',
  async (t) => {
    const deployments = ['a', 'b', 'c', 'd'].map((id) => deployment(id));
    const heirs = new Map<string, number>();
    for (const session of SESSIONS) {
      const [first, second] = sessionAffinity(deployments, session);
      if (first?.id === 'a') heirs.set(second?.id ?? '', (heirs.get(second?.id ?? '') ?? 0) + 1);
    }
    const all = [...heirs.values()].reduce((sum, count) => sum + count, 0);
    for (const count of heirs.values()) t.ok(Math.abs(count / all - 1 / 3) < 0.03, `${count} of ${all}`);
  },
);

t.test('a session’s order is the same in every replica, of this version and the next', async (t) => {
  const published = { '': 0x811c9dc5, a: 0xe40c292c, foobar: 0xbf9cf968 }; // FNV-1a, 32 bits
  for (const [text, hash] of Object.entries(published)) t.equal(seedOf(text) >>> 0, hash);
  const entries = ['a', 'b', 'c', 'd'].map((id) => deployment(id));
  const orders = Array.from({ length: 12 }, (_, i) =>
    sessionAffinity(entries, `session-${i}`)
      .map(({ id }) => id)
      .join(''),
  );
  t.equal(orders.join(' '), 'dacb bacd bdca cadb dcab cbda cabd acbd bdca cabd bdca abdc');
});

t.test('weights hold over sessions', async (t) => {
  const deployments = [deployment('a', 1), deployment('b', 3), deployment('c', 6)];
  const counts = new Map<string, number>();
  for (const session of SESSIONS) {
    const id = ownerOf(deployments, session);
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  for (const { id, weight } of deployments)
    t.ok(Math.abs((counts.get(id) ?? 0) / SESSIONS.length - weight / 10) < 0.015, `${id}: ${counts.get(id)}`);
});

t.test('ids that differ in one digit are spread all the same', async (t) => {
  const deployments = Array.from({ length: 10 }, (_, i) => deployment(`https://gateway-${i}.example.com`));
  const counts = new Map<string, number>();
  for (const session of SESSIONS) {
    const id = ownerOf(deployments, session);
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  for (const count of counts.values()) t.ok(Math.abs(count - 2_000) < 250, String(count));
});
