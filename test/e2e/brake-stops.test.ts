// A conversation that the brake has stopped stays stopped: over a restart, and in the other processes that share its store.
import t from 'tap';
import type { Test } from 'tap';
import { startDemoGateway } from '../../proxy/demo-gateway/demo-gateway.ts';
import { folder } from '../support/cli.ts';
import { beforeNextLook } from '../support/patience.ts';
import { managed, newKey } from '../support/manage.ts';
import { ownPostgres } from '../support/postgres.ts';
import { defaultConfig, KEY, send, startRig, type Rig } from '../support/rig.ts';

const BRAKE =
  'brake: { mode: enforce, polling_seconds: 0, rules: { repeated_step: { slow: false, stop: 6 } } }\n';
const RESULT = 'nothing there, and as many words as results of tools usually have at least. '.repeat(10);

/** An agent that calls the same tool again and again. */
class Loop {
  readonly messages: object[] = [{ role: 'user', content: 'Find it.' }];
  readonly #session: string;

  constructor(session: string) {
    this.#session = session;
  }

  step(): this {
    const id = `call_${this.messages.length}`;
    const tool = { name: 'look', arguments: '{"path":"/a"}' };
    this.messages.push({ role: 'assistant', tool_calls: [{ id, type: 'function', function: tool }] });
    this.messages.push({ role: 'tool', tool_call_id: id, content: RESULT });
    return this;
  }

  says(content: string): this {
    this.messages.push({ role: 'assistant', content: 'Yes?' }, { role: 'user', content });
    return this;
  }

  async call({ url }: Pick<Rig, 'url'>, key = KEY): Promise<number> {
    const headers = { 'x-litellm-session-id': this.#session, authorization: `Bearer ${key}` };
    const body = { model: 'demo', messages: this.messages };
    return (await send(url, 'POST', '/v1/chat/completions', body, headers)).status;
  }

  /** Six times the same: stopped. */
  async run(rig: Pick<Rig, 'url'>, key = KEY): Promise<void> {
    for (let n = 0; n < 6; n += 1) await this.step().call(rig, key);
  }
}

const stateOf = async (rig: Pick<Rig, 'url'>, session: string): Promise<string> => {
  const { text } = await send(rig.url, 'GET', `/conversations/${session}/brake`);
  return String((JSON.parse(text) as { state?: string }).state);
};

/** A process that looks for news several times a second. */
async function until(what: () => Promise<boolean>): Promise<void> {
  while (!(await what())) await beforeNextLook();
}

t.test('whatever value its key has', async (t) => {
  const options = { folder: folder(t), config: (demo: { readonly url: string }) => configOf(demo) };
  const rig = await startRig(t, options);
  const before = await newKey(rig, {});
  const loop = new Loop('renewed');
  await loop.run(rig, before);
  t.equal(await loop.call(rig, before), 400);
  const renewed = await managed(rig, 'POST /key/regenerate', { key: before, grace_period: '1h' });
  const after = String(renewed['key']);
  for (const value of [before, after]) t.equal(await loop.call(rig, value), 400);
  const { text } = await send(rig.url, 'GET', '/conversations/renewed/brake', undefined, {
    authorization: `Bearer ${after}`,
  });
  t.match(JSON.parse(text), { state: 'stopped', refused: 4, parts: [{ api_key: renewed['token_id'] }] });
  await rig.stop();
  const second = await startRig(t, options);
  t.equal(await loop.call(second, after), 400, 'over a restart');
});

t.test('over a restart', async (t) => {
  const options = { folder: folder(t), config: (demo: { readonly url: string }) => configOf(demo) };
  const first = await startRig(t, options);
  const [stopped, resumed, talked] = [new Loop('stopped'), new Loop('resumed'), new Loop('talked')];
  for (const one of [stopped, resumed, talked]) {
    await one.run(first);
    t.equal(await one.call(first), 400);
  }
  t.equal((await send(first.url, 'POST', '/conversations/resumed/brake/resume')).status, 200);
  t.equal(await talked.says('Try something else.').call(first), 200);
  await first.stop();
  const second = await startRig(t, options);
  t.equal(await stateOf(second, 'stopped'), 'stopped', 'known before its first call');
  t.equal(await stopped.call(second), 400, 'the same request again');
  stopped.messages.splice(3); // an agent that forgets: nothing that the rules could find again
  t.equal(await stopped.call(second), 400, 'a shorter history');
  t.equal(
    (await send(second.url, 'GET', '/conversations/resumed/brake')).status,
    404,
    'an administrator has let it go on',
  );
  t.equal(await talked.call(second), 200, 'its user has written');
  stopped.says(
    'A short answer does not do: the agent has to be told in so many words that it is to go on. '.repeat(120),
  );
  t.equal(await stopped.call(second), 200, 'a new message of the user');
  t.equal(await stateOf(second, 'stopped'), 'running');
  await second.stop();
  const third = await startRig(t, options);
  t.equal(await stopped.call(third), 200);
});

const configOf = (demo: { readonly url: string }, more = ''): string =>
  defaultConfig(demo as Parameters<typeof defaultConfig>[0], `${more}${BRAKE}`);

t.test('also where a reload has begun to enforce what was observed before', async (t) => {
  const demo = await startDemoGateway();
  t.teardown(() => demo.close());
  const options = { folder: folder(t) };
  const first = await startRig(t, { ...options, config: () => defaultConfig(demo, 'brake: {}\n') });
  await first.reconfigure(configOf(demo));
  const loop = new Loop('reloaded');
  await loop.run(first);
  t.equal(await loop.call(first), 400);
  await first.stop();
  const second = await startRig(t, { ...options, config: () => configOf(demo) });
  t.equal(await stateOf(second, 'reloaded'), 'stopped');
});

t.test('in other servers on the same database', async (t: Test) => {
  const postgres = await ownPostgres(t);
  if (postgres === null) return t.comment('NEEDS POSTGRESQL: not tested here');
  const demo = await startDemoGateway();
  t.teardown(() => demo.close());
  const database = `  database_url: "${postgres.url()}"\n`;
  const config = (): string => configOf(demo, database);
  const [one, other] = [await startRig(t, { config }), await startRig(t, { config })];
  const loop = new Loop('shared');
  await loop.run(one);
  await until(async () => (await stateOf(other, 'shared')) === 'stopped');
  t.equal(await loop.call(other), 400);
  t.equal((await send(other.url, 'POST', '/conversations/shared/brake/resume')).status, 200);
  await until(async () => (await stateOf(one, 'shared')) !== 'stopped');
  t.equal(await loop.call(one), 200);
});
