// Switching the profile of a conversation that runs: the runtime and the rows change together, or neither does.
import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import t from 'tap';
import { headerOf, lastSeen, rowOf, send } from '../../support/rig.ts';
import { at, startPlatform, type Answered, type PlatformRig } from '../fixture/rig.ts';
import { startInRuntime, startWithRuntimes, type HandedLlm, type Runtime } from '../fixture/agent.ts';
import { beforeNextLook } from '../../support/patience.ts';

const PATH = '/api/v1/app-conversations';

const profile = (rig: PlatformRig, name: string, llm: object): Promise<Answered> =>
  rig.api('POST', `/api/v1/settings/profiles/${name}`, { llm });

const switchTo = (rig: PlatformRig, id: string, name: string): Promise<Answered> =>
  rig.api('POST', `${PATH}/${id}/switch_profile`, { profile_name: name });

interface Conversation {
  readonly llm_profile: string | null;
  readonly llm_model: string | null;
  readonly llm_base_url: string;
  readonly llm_api_key: string;
}

async function read(rig: PlatformRig, id: string): Promise<Conversation> {
  const { json } = await rig.api('GET', `${PATH}?ids=${id}`);
  return (json as [Conversation])[0];
}

/** What the runtime was asked to switch to, oldest first. */
async function asked(runtime: Runtime, query = ''): Promise<readonly HandedLlm[]> {
  const all = (await runtime.ask(`/switching${query}`)) as readonly { llm: HandedLlm }[];
  return all.map(({ llm }) => llm);
}

async function both(rig: PlatformRig): Promise<void> {
  await profile(rig, 'a', { model: 'demo', temperature: 0.1, extra_headers: { 'X-P': 'a' } });
  await profile(rig, 'b', { model: 'compat', temperature: 0.9, extra_headers: { 'X-P': 'b' } });
}

async function rowAfterCall(rig: PlatformRig, id: string): Promise<string | undefined> {
  const { llm_base_url: base, llm_api_key: key } = await read(rig, id);
  const { origin, pathname } = new URL(base);
  const body = { model: 'demo', messages: [{ role: 'user', content: 'x' }] };
  const response = await send(origin, 'POST', `${pathname}/chat/completions`, body, {
    authorization: `Bearer ${key}`,
  });
  await rowOf(rig, response);
  return headerOf(lastSeen(rig).rawHeaders, 'x-p');
}

t.test('the runtime is told of the model, then the rows follow', async (t) => {
  const rig = await startWithRuntimes(t);
  await both(rig);
  const { id, runtime } = await startInRuntime(rig, { llm_profile: 'a' });
  const switched = await switchTo(rig, id, 'b');
  t.same([switched.status, switched.json], [200, { success: true }]);
  const conversation = await read(rig, id);
  t.match(conversation, { llm_profile: 'b', llm_model: 'compat' });
  const [llm, ...more] = await asked(runtime);
  t.same(more, []);
  t.match(llm, {
    model: 'litellm_proxy/compat',
    temperature: 0.9,
    base_url: `${rig.url}/c/${id}`,
    api_key: conversation.llm_api_key,
  });
  t.notOk('extra_headers' in (llm ?? {}), 'they are added here');
  t.equal(await rowAfterCall(rig, id), 'b');
});

t.test('what the runtime refuses is told with its reason, and nothing has changed', async (t) => {
  const rig = await startWithRuntimes(t);
  await both(rig);
  const { id, runtime } = await startInRuntime(rig, { llm_profile: 'a' });
  const { llm_api_key: key } = await read(rig, id);
  const cases = [
    [
      '422',
      /Nothing was changed: .* refused the other profile with 422: llm\.temperature: Input should be valid$/,
    ],
    ['400', /refused the other profile with 400: refused: /],
    ['500', /refused the other profile with 500/],
    ['drop', /did not respond .* nothing was changed/],
  ] as const;
  for (const [answer, words] of cases) {
    await asked(runtime, `?answer=${answer}`);
    const refused = await switchTo(rig, id, 'b');
    t.equal(refused.status, 502, answer);
    t.match(at(refused, 'detail'), words);
    t.notMatch(refused.text, key, 'its words hold no key, though FastAPI repeats the input');
    t.notMatch(refused.text, runtime.key);
    t.match(await read(rig, id), { llm_profile: 'a', llm_model: 'demo' });
  }
  t.equal(
    (await asked(runtime)).at(-1)?.['temperature'],
    0.1,
    'one that did not answer is told the old one again',
  );
  t.equal(await rowAfterCall(rig, id), 'a');
  await asked(runtime, '?answer=');
  t.equal((await switchTo(rig, id, 'b')).status, 200);
});

t.test('a profile that is not there or not served reaches no runtime', async (t) => {
  const rig = await startWithRuntimes(t);
  await both(rig);
  await profile(rig, 'late', { model: 'not-served' });
  const { id, runtime } = await startInRuntime(rig, { llm_profile: 'a' });
  t.equal((await switchTo(rig, id, 'nobody')).status, 404);
  const refused = await switchTo(rig, id, 'late');
  t.equal(refused.status, 400);
  t.match(at(refused, 'detail'), /`not-served` does not exist.*The profile 'late' names it/);
  t.same(await asked(runtime), []);
  t.match(await read(rig, id), { llm_profile: 'a' });
});

t.test('one that cannot be stored is taken back from the runtime', async (t) => {
  const rig = await startWithRuntimes(t);
  await both(rig);
  const { id, runtime } = await startInRuntime(rig, { llm_profile: 'a' });
  await asked(runtime, '?answer=hold');
  const switching = switchTo(rig, id, 'b');
  while ((await asked(runtime)).length === 0) await beforeNextLook();
  const other = new DatabaseSync(join(rig.folder, 'data', 'platform.db'));
  other.prepare("DELETE FROM items WHERE kind = 'conversation' AND id = ?").run(id);
  other.close();
  await asked(runtime, '?answer=&release');
  t.equal((await switching).status, 404, 'it was deleted meanwhile');
  t.same(
    (await asked(runtime)).map((llm) => llm['temperature']),
    [0.9, 0.1],
  );
});

t.test('while the runtime cannot be told, the switch waits for another time', async (t) => {
  const rig = await startWithRuntimes(t, '    - { id: sleeps, command: [sleep, "1000"] }\n');
  await both(rig);
  await rig.api('POST', '/api/v1/settings', { default_sandbox_spec_id: 'sleeps' });
  const begun = await rig.api('POST', PATH, { llm_profile: 'a' });
  const early = await switchTo(rig, String(at(begun, 'app_conversation_id')), 'b');
  t.equal(early.status, 409, early.text);
  t.match(at(early, 'detail'), /is being started.* READY/);
  await rig.api('POST', '/api/v1/settings', { default_sandbox_spec_id: 'default' });
  const { id, runtime } = await startInRuntime(rig, { llm_profile: 'a' });
  const { sandboxId } = runtime;
  await rig.api('POST', `/api/v1/sandboxes/${sandboxId}/pause`);
  const paused = await switchTo(rig, id, 'b');
  t.equal(paused.status, 409);
  t.match(at(paused, 'detail'), /The sandbox is PAUSED/);
  t.match(await read(rig, id), { llm_profile: 'a' });
  await rig.api('POST', `/api/v1/sandboxes/${sandboxId}/resume`);
  t.equal((await switchTo(rig, id, 'b')).status, 200);
  await rig.api('DELETE', `/api/v1/sandboxes/${sandboxId}`);
  t.equal((await switchTo(rig, id, 'a')).status, 200, 'without a runtime there is nobody to tell');
  t.match(await read(rig, id), { llm_profile: 'a', llm_model: 'demo' });
});

t.test('of switches at the same time the last one holds on both sides', async (t) => {
  const rig = await startWithRuntimes(t);
  await both(rig);
  const { id, runtime } = await startInRuntime(rig, { llm_profile: 'a' });
  const names = ['b', 'a', 'b', 'a', 'b', 'b', 'a'];
  const statuses = await Promise.all(names.map(async (name) => (await switchTo(rig, id, name)).status));
  t.same(new Set(statuses), new Set([200]));
  const told = (await asked(runtime)).at(-1)?.model;
  t.equal(told, `litellm_proxy/${String((await read(rig, id)).llm_model)}`);
});

t.test('without a sandbox the profile changes here alone', async (t) => {
  const rig = await startPlatform(t);
  await both(rig);
  const begun = await rig.api('POST', PATH, { llm_profile: 'a' });
  const id = String(at(begun, 'app_conversation_id'));
  t.equal((await switchTo(rig, id, 'b')).status, 200);
  t.match(await read(rig, id), { llm_profile: 'b', llm_model: 'compat' });
});
