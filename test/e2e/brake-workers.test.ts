// The runaway brake over two workers of the real program: a loop whose calls reach both is found at the number, and an
// administrator who asks either worker reaches both.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { startDemoGateway } from '../../proxy/demo-gateway/demo-gateway.ts';
import { folder, serveCli } from '../support/cli.ts';
import { defaultConfig, send } from '../support/rig.ts';

const RESULT = 'nothing there, and as many words as results of tools usually have at least. '.repeat(10);
const SESSION = { 'x-litellm-session-id': 'shared' };

t.test('two workers', async (t) => {
  const demo = await startDemoGateway();
  t.teardown(() => demo.close());
  const dir = folder(t);
  const config = join(dir, 'gateway.yaml');
  const brake =
    'brake: { mode: enforce, polling_seconds: 0, rules: { repeated_step: { slow: false, stop: 6 } } }';
  writeFileSync(config, defaultConfig(demo, brake));
  const { url } = await serveCli(t, config, join(dir, 'data'), ['--workers', '2']);
  const messages: object[] = [{ role: 'user', content: 'Find it.' }];
  const call = async (): Promise<number> =>
    (await send(url, 'POST', '/v1/chat/completions', { model: 'demo', messages }, SESSION)).status;
  const statuses: number[] = [];
  for (let i = 0; i < 6; i++) {
    const id = `call_${i}`;
    const tool = { name: 'look', arguments: '{"path":"/a"}' };
    messages.push({ role: 'assistant', tool_calls: [{ id, type: 'function', function: tool }] });
    messages.push({ role: 'tool', tool_call_id: id, content: RESULT });
    statuses.push(await call());
  }
  t.same(statuses, [200, 200, 200, 200, 200, 400]);
  t.equal(await call(), 400, 'the other worker sees the same messages');
  t.equal(await call(), 400);
  const path = '/conversations/shared/brake';
  for (let i = 0; i < 4; i++) {
    const { text } = await send(url, 'GET', path);
    t.match(JSON.parse(text), { state: 'stopped', calls: 5, refused: 3 });
    t.equal((JSON.parse(text) as { parts: unknown[] }).parts.length, 2, 'whichever is asked');
  }
  t.equal((await send(url, 'POST', `${path}/resume`)).status, 200);
  t.same([await call(), await call()], [200, 200], 'both let it go on');
});
