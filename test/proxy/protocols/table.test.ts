// The table of protocols: names, paths and call types are unique, and each endpoint knows its protocol.
import t from 'tap';
import { BY_ID, ENDPOINTS, PROTOCOLS, protocolNamed } from '../../../proxy/protocols/table.ts';

const isUnique = (values: readonly string[]): boolean => new Set(values).size === values.length;

t.test('nothing stands in it twice', async (t) => {
  t.ok(isUnique(PROTOCOLS.map(({ name }) => name)));
  t.ok(isUnique(ENDPOINTS.map(({ path }) => path)));
  t.ok(isUnique([...ENDPOINTS, ...BY_ID.map(({ endpoint }) => endpoint)].map(({ callType }) => callType)));
});

t.test('each endpoint knows its protocol, and each protocol is found by its name', async (t) => {
  const of = (path: string): string | undefined => ENDPOINTS.find((one) => one.path === path)?.protocol.name;
  t.equal(of('chat/completions'), 'chat');
  t.equal(of('messages/count_tokens'), 'messages');
  t.same([...new Set(BY_ID.map(({ endpoint }) => endpoint.protocol.name))], ['responses']);
  for (const protocol of PROTOCOLS) t.equal(protocolNamed(protocol.name), protocol);
  t.throws(() => protocolNamed('nobody'), /no protocol nobody/);
});

t.test(
  'every marker is found by itself wherever it stands: a marker keeps no state between events',
  async (t) => {
    for (const { name, events } of PROTOCOLS) t.equal(events.markers.flags, '', name);
  },
);
