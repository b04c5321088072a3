import t from 'tap';
import type { AddressRange } from '../../../config/access-settings.ts';
import { AddressList, checkAddress, clientAddressOf } from '../../../proxy/access/client-address.ts';

const range = (address: string, bits: number): AddressRange => ({
  address,
  bits,
  family: address.includes(':') ? 'ipv6' : 'ipv4',
});
const TRUSTED = new AddressList([range('10.0.0.0', 8), range('fd00::1', 128)]);

t.test('an address is in its network, also in its IPv6 form; nothing else is', async (t) => {
  for (const inside of [
    '10.0.0.1',
    '10.255.255.255',
    '::ffff:10.1.2.3',
    '::FFFF:10.1.2.3',
    'fd00::1',
    'fd00:0::1',
  ])
    t.equal(TRUSTED.has(inside), true, inside);
  for (const outside of [
    '11.0.0.1',
    '::ffff:11.0.0.1',
    'fd00::2',
    '',
    'localhost',
    '10.1',
    '010.0.0.1',
    '10.0.0.1/8',
  ])
    t.equal(TRUSTED.has(outside), false, outside);
  t.equal(TRUSTED.has(null), false, 'an address that is not known is in no list');
  t.equal(
    new AddressList([range('fe80::', 10)]).has('fe80::1%eth0'),
    true,
    'a zone is no part of the address',
  );
});

t.test(
  'X-Forwarded-For counts from a trusted proxy only, and only what trusted proxies appended',
  async (t) => {
    const cases: readonly (readonly [
      peer: string | null,
      forwarded: readonly string[],
      expected: string | null,
    ])[] = [
      ['10.0.0.1', ['203.0.113.7'], '203.0.113.7'],
      ['::ffff:10.0.0.1', ['203.0.113.7'], '203.0.113.7'],
      ['203.0.113.9', ['10.0.0.5'], '203.0.113.9'], // a stranger may write what it likes
      ['10.0.0.1', [], '10.0.0.1'],
      ['10.0.0.1', ['192.0.2.1, 203.0.113.7'], '203.0.113.7'], // the first one came from the client
      ['10.0.0.1', ['192.0.2.1', '203.0.113.7'], '203.0.113.7'], // two lines are one list
      ['10.0.0.1', ['203.0.113.7, 10.0.0.2,10.0.0.3'], '203.0.113.7'],
      ['10.0.0.1', ['10.0.0.2, 10.0.0.3'], '10.0.0.2'],
      ['10.0.0.1', ['203.0.113.7:49152'], '203.0.113.7'],
      ['10.0.0.1', ['[2001:db8::1]:49152'], '2001:db8::1'],
      ['10.0.0.1', ['203.0.113.7, unknown'], null],
      ['10.0.0.1', ['203.0.113.7, 10.0.0.1.evil'], null],
      ['10.0.0.1', [' , '], '10.0.0.1'],
      [null, ['203.0.113.7'], null],
    ];
    for (const [peer, forwarded, expected] of cases) {
      const raw = ['Host', 'a', ...forwarded.flatMap((value) => ['X-Forwarded-FOR', value])];
      t.equal(clientAddressOf(peer, raw, TRUSTED), expected, `${peer} ${forwarded.join(' | ')}`);
    }
  },
);

t.test('without a list every address may call; with one, only those in it', async (t) => {
  checkAddress(null, null);
  checkAddress(TRUSTED, '10.0.0.1');
  for (const address of ['203.0.113.7', null])
    t.throws(() => checkAddress(TRUSTED, address), { code: 'address_not_allowed', status: 403 });
});
