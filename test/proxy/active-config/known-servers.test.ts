// The list of servers: workers of one server are one line, and what is heard in two places is one server.
import t from 'tap';
import { KnownServers } from '../../../proxy/active-config/known-servers.ts';
import type { KnownProcess } from '../../../proxy/items/replicas.ts';

const heard = (server: string, more: Partial<KnownProcess> = {}): KnownProcess => ({
  server,
  name: `host-${server}`,
  version: '1.0.0',
  startedMs: 1,
  seenMs: 100,
  ...more,
});

t.test('alone', async (t) => {
  t.same(new KnownServers(heard('a', { seenMs: 0 }), []).all(500), [
    { name: 'host-a', version: '1.0.0', startedMs: 1, seenMs: 500, isThis: true, sharedBy: [] },
  ]);
});

t.test('each server once, this one first, with its last sign of life', async (t) => {
  const servers = new KnownServers(heard('a'), [
    { by: 'postgresql', others: () => [heard('c'), heard('b', { seenMs: 40 }), heard('b', { seenMs: 90 })] },
    { by: 'valkey', others: () => [heard('a'), heard('b', { seenMs: 60, version: '0.9.0' })] },
  ]);
  t.match(servers.all(500), [
    { name: 'host-a', isThis: true, sharedBy: ['postgresql', 'valkey'] },
    { name: 'host-b', isThis: false, seenMs: 90, version: '1.0.0', sharedBy: ['postgresql', 'valkey'] },
    { name: 'host-c', isThis: false, sharedBy: ['postgresql'] },
  ]);
  t.equal(servers.all(500).length, 3);
});
