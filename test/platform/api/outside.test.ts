// Every operation of the platform is served, or answers 404 with a sentence; docs/platform-operations.md shows which.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { OUTSIDE } from '../../../platform/api/outside.ts';
import { CLIENT, plain, render, SERVED, SERVED_BY_THE_PROXY, V0, V1 } from '../fixture/operations-table.ts';
import { send } from '../../support/rig.ts';
import { startPlatform } from '../fixture/rig.ts';

const outside = OUTSIDE.flatMap(({ operations }) => operations);

t.test('each of the 185 operations of V1 and the 43 of V0 is served or outside, not both', async (t) => {
  t.equal(V1.length, 185);
  t.equal(V0.length, 43);
  const [served, not] = [new Set(SERVED.map(plain)), new Set(outside.map(plain))];
  for (const operation of [...V1, ...V0]) {
    const places = [served, not, new Set(SERVED_BY_THE_PROXY)].filter((one) => one.has(plain(operation)));
    t.equal(places.length, 1, operation);
  }
  t.equal(new Set(outside).size, outside.length, 'each stands there once');
});

t.test('what is outside says so, with any key and with none', async (t) => {
  const rig = await startPlatform(t);
  for (const { why, operations } of OUTSIDE) {
    for (const operation of operations) {
      const [method = '', path = ''] = operation.split(' ');
      const url = path.replaceAll(/\{\w+\}/g, '00000000-0000-4000-8000-000000000000');
      const body = method === 'GET' || method === 'DELETE' ? undefined : {};
      const answer = await rig.api(method, url, body, null);
      t.equal(answer.status, 404, operation);
      t.same(answer.json, { detail: `${operation} is not served by Throughline: ${why}` });
    }
  }
  t.same((await rig.api('GET', '/api/billing/nothing')).json, { detail: 'Not Found' });
  t.equal((await rig.api('POST', '/slack/install', {})).status, 404);
  t.equal((await rig.api('PUT', '/api/keys/current', {})).status, 405);
  t.equal((await send(rig.url, 'GET', '/readyx')).status, 404);
});

t.test('without the platform interface, its paths are unknown to the proxy', async (t) => {
  const rig = await startPlatform(t, { platform: '  port: 0' });
  for (const path of ['/slack/install', '/server_info', '/api/keys/current'])
    t.equal((await send(rig.url, 'GET', path)).status, 404, `${path} is not on the port of the proxy`);
});

t.test('the operations of the published client and the web page are known', async (t) => {
  const known = new Set([...SERVED, ...outside].map(plain));
  for (const [, operation] of CLIENT) t.ok(known.has(plain(operation)), operation);
});

t.test('docs/platform-operations.md shows the same tables', async (t) => {
  const docs = readFileSync(join(import.meta.dirname, '../../../docs/platform-operations.md'), 'utf8');
  t.equal(docs, await render(), 'run: node test/platform/fixture/operations-table.ts');
});
