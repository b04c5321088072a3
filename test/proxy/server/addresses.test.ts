import t from 'tap';
import { listenProblem, onAllAddresses, urlOf } from '../../../proxy/server/addresses.ts';

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

t.test('an address that cannot be bound is explained in words, with the flag that changes it', (t) => {
  const names = { host: '--host', port: '--port' };
  const why = (code: string, host: string, port = 4000): string =>
    listenProblem(Object.assign(new Error(code), { code }), { host, port }, names);
  t.match(why('EADDRINUSE', '0.0.0.0'), /^port 4000 of 0\.0\.0\.0 is in use - stop what listens there/);
  t.match(why('EACCES', '0.0.0.0', 80), /^port 80 needs privileges .* - use --port above 1023$/);
  t.match(why('EADDRNOTAVAIL', '10.9.9.9'), /^10\.9\.9\.9 is no address of this machine - use --host/);
  t.match(why('EADDRNOTAVAIL', '::1'), /no IPv6 - use --host 0\.0\.0\.0$/);
  t.match(
    why('ENOTFOUND', 'llm.example.com'),
    /^the name llm\.example\.com leads to no address - use --host/,
  );
  t.match(why('EIO', '0.0.0.0'), /^cannot listen on 0\.0\.0\.0:4000 \(EIO\) - check --host and --port$/);
  t.end();
});
