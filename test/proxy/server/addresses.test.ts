import t from 'tap';
import { onAllAddresses, urlOf } from '../../../proxy/server/addresses.ts';

t.test('a URL for this machine hides that all addresses are listened on: that is said beside it', (t) => {
  t.equal(urlOf({ host: '0.0.0.0', port: 4000 }), 'http://127.0.0.1:4000');
  t.equal(
    onAllAddresses({ host: '0.0.0.0', port: 4000 }),
    'it listens on 0.0.0.0:4000: on every address of this machine',
  );
  t.match(onAllAddresses({ host: '::', port: 4000 }), /^it listens on \[::\]:4000:/);
  for (const host of ['127.0.0.1', '::1', '10.0.0.5', 'llm.example.com'])
    t.equal(onAllAddresses({ host, port: 4000 }), null);
  t.end();
});
