// Which names address the proxy, and which requests come from another page.
import t from 'tap';
import {
  boundTo,
  hostName,
  isAllowedHost,
  isCrossOrigin,
  needsNoPreflight,
} from '../../../proxy/server/allowed-hosts.ts';

t.test('what a Host header is', async (t) => {
  for (const [header, name] of [
    ['localhost', 'localhost'],
    ['LOCALHOST:4000', 'localhost'],
    ['[::1]:4000', '[::1]'],
    ['llm_proxy.internal', 'llm_proxy.internal'],
    ['a:', 'a'],
  ] as const)
    t.equal(hostName(header), name, header);
  for (const bad of [
    '',
    'a b',
    'a,b',
    'a/b',
    'user@a',
    'a:b',
    'a:123456',
    'a?',
    'a#',
    '::1',
    '[::1',
    'a\tb',
    '%61',
    'ä',
    '.',
  ])
    t.equal(hostName(bad), null, bad);
});

t.test('on a loopback address: names of this machine, and those that are listed', async (t) => {
  const bound = boundTo('127.0.0.1');
  for (const name of [
    'localhost',
    'localhost.',
    '127.0.0.1',
    '127.8.9.1',
    '[::1]',
    '0.0.0.0',
    '[::]',
    'host.docker.internal',
  ])
    t.ok(isAllowedHost(name, bound, null), name);
  for (const name of [
    'evil.example',
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    '10.0.0.1',
    '127.example.com',
    '[::2]',
    '',
  ])
    t.notOk(isAllowedHost(name, bound, null), name);
  const listed = ['llm.example.com', '*.corp.example'];
  for (const name of ['llm.example.com', 'a.corp.example', 'localhost'])
    t.ok(isAllowedHost(name, bound, listed), name);
  for (const name of ['corp.example', 'evilcorp.example', 'x.llm.example.com'])
    t.notOk(isAllowedHost(name, bound, listed), name);
  t.ok(isAllowedHost('anything', bound, ['*']));
  t.ok(isAllowedHost('localhost', boundTo('localhost'), null));
});

t.test('on other addresses all names, until some are listed; addresses always', async (t) => {
  const bound = boundTo('0.0.0.0');
  t.ok(isAllowedHost('evil.example', bound, null));
  t.notOk(isAllowedHost('evil.example', bound, ['llm.example.com']));
  for (const name of ['llm.example.com', '10.0.0.7', '[fd00::7]', 'localhost'])
    t.ok(isAllowedHost(name, bound, ['llm.example.com']), name);
  t.ok(
    isAllowedHost('me.example', boundTo('Me.Example'), ['llm.example.com']),
    'the name that it is bound to',
  );
});

t.test('another origin', async (t) => {
  for (const [origin, site, host, is] of [
    [null, null, 'a', false],
    ['http://a', null, 'a', false],
    ['http://a:80', null, 'a', false],
    ['https://A', null, 'a:443', false],
    ['http://a:4000', 'same-origin', 'a:4000', false],
    ['http://a:3000', null, 'a:4000', true],
    ['https://llm.example.com', 'same-origin', '127.0.0.1:4000', false],
    ['http://a', 'cross-site', 'a', true],
    ['http://evil.example', null, 'a', true],
    ['null', null, 'a', true],
    ['file://', null, 'a', true],
    [null, 'cross-site', 'a', true],
    [null, 'same-site', 'a', true],
    [null, 'none', 'a', false],
  ] as const)
    t.equal(isCrossOrigin(origin, site, host), is, `${origin} ${site} ${host}`);
});

t.test('types that browsers send without asking', async (t) => {
  for (const type of [
    null,
    '',
    'text/plain',
    'TEXT/PLAIN; charset=utf-8',
    'multipart/form-data; boundary=x',
    'application/x-www-form-urlencoded',
  ])
    t.ok(needsNoPreflight(type), `${type}`);
  for (const type of ['application/json', 'text/json', 'application/octet-stream'])
    t.notOk(needsNoPreflight(type), type);
});
