// Which addresses are link-local or metadata services, in every spelling that a URL or DNS may have.
import t from 'tap';
import { isLinkLocal, isLinkLocalHost } from '../../config/link-local.ts';

const hostOf = (host: string): string => new URL(`http://${host}/v1`).hostname;

t.test('hosts of URLs', (t) => {
  const refused = [
    '169.254.169.254',
    '169.254.0.0',
    '169.254.255.255:8080',
    '2852039166',
    '0xa9fea9fe',
    '0XA9.0xFE.0xA9.0xFE',
    '0251.0376.0251.0376',
    '0251.254.0xa9fe',
    '169.16689662',
    '169.254.169.254.',
    '１６９.２５４.１６９.２５４',
    '169。254。169。254',
    '%31%36%39.254.169.254',
    '[::ffff:169.254.169.254]',
    '[::ffff:a9fe:a9fe]',
    '[0:0:0:0:0:FFFF:A9FE:A9FE]',
    '[::169.254.169.254]',
    '[::ffff:0:a9fe:a9fe]',
    '[64:ff9b::169.254.169.254]',
    '[2002:a9fe:a9fe::1]',
    '[fe80::1]',
    '[FEBF:ffff::1]',
    '[fd00:ec2::254]',
    '[fd00:0ec2:0:0:0:0:0:0254]',
    '[fd20:ce::254]',
    '100.100.100.200',
    '[::ffff:100.100.100.200]',
    '192.0.0.192',
    '168.63.129.16',
    'metadata.google.internal',
    'METADATA.google.Internal.',
    'x.metadata.google.internal',
    'metadata.goog',
    'ｍetadata.google.internal',
  ];
  for (const host of refused) t.ok(isLinkLocalHost(hostOf(host)), host);
  const taken = [
    '127.0.0.1',
    'localhost',
    '[::1]',
    '10.0.0.5',
    '172.16.3.4',
    '192.168.1.1',
    '100.64.0.1',
    '169.253.255.255',
    '169.255.0.0',
    '[fec0::1]',
    '[fd00:ec2::253]',
    '[fd12::1]',
    '[::ffff:127.0.0.1]',
    '[2001:db8::a9fe:a9fe]',
    'gateway.example.com',
    'metadata.google.internal.example.com',
    'mymetadata.goog',
    '169.254.169.254.nip.io',
  ];
  for (const host of taken) t.notOk(isLinkLocalHost(hostOf(host)), host);
  t.end();
});

t.test('addresses as DNS gives them', (t) => {
  for (const address of ['169.254.1.1', 'fe80::1', 'fe80::1%eth0', '::ffff:169.254.169.254', 'FE80::A'])
    t.ok(isLinkLocal(address), address);
  for (const address of ['127.0.0.1', '::1', '10.1.1.1', '', 'fe80', 'metadata.goog', '2606:4700::1'])
    t.notOk(isLinkLocal(address), address);
  t.end();
});
