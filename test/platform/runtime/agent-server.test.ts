// A conversation and its agent server: what a start hands over and what it refuses, the execution status, title and tags
// from either side, and the end on both.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import t, { type Test } from 'tap';
import { START_MEMBERS } from '../../../platform/conversations/start-members.ts';
import { description } from '../../../platform/api/description.ts';
import { rowOf, send } from '../../support/rig.ts';
import { at, ended, specs, startPlatform, type Answered, type PlatformRig } from '../fixture/rig.ts';
import { killMarked } from '../fixture/sandbox-processes.ts';
import { beforeNextLook } from '../../support/patience.ts';

const PATH = '/api/v1/app-conversations';
const TAKES = '      conversations_path: /api/conversations\n';

interface Info {
  readonly id: string;
  readonly title: string | null;
  readonly tags: Readonly<Record<string, string>>;
  readonly execution_status: string | null;
  readonly llm_base_url: string;
  readonly llm_api_key: string;
  readonly conversation_url: string;
  readonly session_api_key: string;
  readonly sandbox_id: string;
}

async function startRig(t: Test, more = TAKES): Promise<PlatformRig> {
  const rig = await startPlatform(t, { platform: specs(more, 'none') });
  t.teardown(() => killMarked(join(rig.folder, 'data')));
  return rig;
}

async function read(rig: PlatformRig, id: string): Promise<Info> {
  const { json } = await rig.api('GET', `${PATH}?ids=${id}`);
  return (json as [Info])[0];
}

async function start(rig: PlatformRig, request: object): Promise<Info> {
  const task = await ended(rig, String(at(await rig.api('POST', PATH, request), 'id')));
  if (task['status'] !== 'READY') throw new Error(JSON.stringify(task));
  return read(rig, String(task['app_conversation_id']));
}

/** What the conversation's agent server is told by others. */
async function tell(info: Info, method: string, path = '', body?: unknown): Promise<unknown> {
  const url = path.startsWith('/')
    ? `${new URL(info.conversation_url).origin}${path}`
    : `${dashedUrl(info)}${path}`;
  const headers = { 'x-session-api-key': info.session_api_key, 'content-type': 'application/json' };
  const response = await fetch(url, {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return response.json();
}

const dashedUrl = ({ conversation_url: url, id }: Info): string =>
  url.replace(id, id.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'));

async function until(rig: PlatformRig, id: string, fits: (info: Info) => boolean): Promise<Info> {
  for (;;) {
    const info = await read(rig, id);
    if (fits(info)) return info;
    await beforeNextLook();
  }
}

async function tagsOfCall(
  rig: PlatformRig,
  { llm_base_url: base, llm_api_key: key }: Info,
): Promise<unknown> {
  const { origin, pathname } = new URL(base);
  const body = { model: 'demo', messages: [{ role: 'user', content: 'one' }] };
  const authorization = `Bearer ${key}`;
  const response = await send(origin, 'POST', `${pathname}/chat/completions`, body, { authorization });
  return (await rowOf(rig, response))['request_tags'];
}

t.test('a start hands over its title, its suffix and its repository', async (t) => {
  const rig = await startRig(t);
  const info = await start(rig, {
    title: 'A title',
    system_message_suffix: 'Speak French.',
    selected_repository: 'octocat/Hello-World',
    selected_branch: 'feature/x',
    git_provider: 'github',
    tags: { a: 'b' },
  });
  const [sent] = (await tell(info, 'GET', '/conversations')) as [Record<string, unknown>];
  t.match(sent, {
    agent_launch_additions: { system_message_suffix_append: 'Speak French.' },
    autotitle: false,
    workspace: { working_dir: /\/sandboxes\/\w+\/Hello-World$/ },
  });
  const [command] = (await tell(info, 'GET', '/commands')) as [
    { readonly command: string; readonly cwd: string },
  ];
  t.match(
    command.command,
    "git clone --quiet --branch 'feature/x' -- 'https://github.com/octocat/Hello-World.git' 'Hello-World'",
  );
  t.match(command.cwd, /\/sandboxes\/\w+$/);
  t.match(info, {
    title: 'A title',
    selected_repository: 'octocat/Hello-World',
    selected_branch: 'feature/x',
  });
  const [there] = (await tell(info, 'GET', `/api/conversations?ids=${dashedUrl(info).slice(-36)}`)) as [Info];
  t.equal(there.title, 'A title', 'the agent server has it too');

  await tell(info, 'GET', '/commands-fail');
  const request = { sandbox_id: info.sandbox_id, selected_repository: 'octocat/other' };
  const task = await ended(rig, String(at(await rig.api('POST', PATH, request), 'id')));
  t.match(task, { status: 'ERROR', detail: /could not be cloned in the sandbox: fatal: no such repository/ });
});

t.test('a sub-conversation runs beside its parent, in the same repository', async (t) => {
  const rig = await startRig(t);
  const parent = await start(rig, { selected_repository: 'a/b', git_provider: 'gitlab' });
  const child = await start(rig, { parent_conversation_id: parent.id });
  t.equal(child.sandbox_id, parent.sandbox_id);
  const [, sent] = (await tell(child, 'GET', '/conversations')) as [unknown, Record<string, unknown>];
  t.match(sent, { parent_conversation_id: dashedUrl(parent).slice(-36), workspace: { working_dir: /\/b$/ } });
  for (const more of [{ sandbox_id: 'another' }, { selected_repository: 'c/d' }]) {
    const refused = await rig.api('POST', PATH, { parent_conversation_id: parent.id, ...more });
    t.equal(refused.status, 422, refused.text);
  }
});

t.test('every member of a start request is honoured or refused, as the docs say', async (t) => {
  const described = description().components.schemas['AppConversationStartRequest']?.properties ?? {};
  t.same(Object.keys(START_MEMBERS), Object.keys(described).sort(), 'none is left out');
  const docs = readFileSync(join(import.meta.dirname, '../../../docs/platform-conversations.md'), 'utf8');
  const VALUES: Readonly<Record<string, unknown>> = {
    agent_profile_id: 'x',
    initial_message: { role: 'user', content: [{ type: 'text', text: 'x' }] },
    observability_metadata: { a: 'b' },
    observability_span_name: 'a',
    observability_tags: ['a'],
    plugins: [{ source: 'github:a/b' }],
    secrets: { A: 'b' },
    selected_branch: 'x',
    selected_repository: 'a/b',
    suggested_task: {
      git_provider: 'github',
      task_type: 'OPEN_ISSUE',
      repo: 'a/b',
      issue_number: 1,
      title: 'x',
    },
    system_message_suffix: 'x',
  };
  const plain = await startRig(t, '');
  const without = await startPlatform(t);
  for (const [name, { by }] of Object.entries(START_MEMBERS)) {
    const [row = ''] = new RegExp(`^\\| .*\`${name}\`.* \\|$`, 'm').exec(docs) ?? [];
    t.equal(/\| 422: /.test(row), by === 'refused', `${name} in the docs: ${row}`);
    t.not(row, '');
    const request = {
      ...(name === 'selected_branch' ? { selected_repository: 'a/b' } : {}),
      [name]: VALUES[name],
    };
    if (by === 'interface') continue;
    const refused = await plain.api('POST', PATH, request);
    t.equal(refused.status, 422, `${name} ${refused.text}`);
    t.match(refused.json, { detail: [{ loc: ['body', String], msg: /^Value error, .{20}/ }] });
    const status = by === 'refused' ? 422 : 200;
    t.equal((await without.api('POST', PATH, request)).status, status, `${name} without a sandbox`);
  }
  const wrong: readonly (readonly [member: string, request: object])[] = [
    ['agent_type', { agent_type: 'plan' }],
    ['title', { title: 'x'.repeat(201) }],
    ['system_message_suffix', { system_message_suffix: 'x'.repeat(32_769) }],
    ['selected_branch', { selected_branch: 'main' }],
    ['git_provider', { selected_repository: 'a/b', git_provider: 'forgejo' }],
    ...['x', 'a/b; id', "a/b'", 'a/../b', '-a/b', 'a/$(id)', 'a/b\n', 'https://a/b', 'a//b', '/a/b'].map(
      (name) => ['selected_repository', { selected_repository: name }] as const,
    ),
    ...['-x', "x'y", 'x y', 'x..y', '$(id)', '--upload-pack=id', 'x\n'].map(
      (branch) => ['selected_branch', { selected_repository: 'a/b', selected_branch: branch }] as const,
    ),
  ];
  for (const [member, request] of wrong) {
    const refused: Answered = await without.api('POST', PATH, request);
    t.equal(refused.status, 422, JSON.stringify(request));
    t.match(refused.json, { detail: [{ loc: ['body', member] }] });
  }
  t.equal((await plain.api('GET', `${PATH}/count`)).json, 0, 'nothing half-written');
});

t.test('the execution status is that of the agent server, reported or asked for', async (t) => {
  const rig = await startRig(t);
  const { id } = await start(rig, {});
  const info = await until(rig, id, ({ execution_status: status }) => status === 'running');
  await tell(info, 'PUT', '', { execution_status: 'finished' });
  await until(rig, id, ({ execution_status: status }) => status === 'finished');
  const reported = await tell(info, 'PUT', '?report', { execution_status: 'waiting_for_confirmation' });
  t.match(reported, { webhook: 200 });
  t.equal((await read(rig, id)).execution_status, 'waiting_for_confirmation', 'at once');
  const events = `/api/v1/webhooks/events/${id}`;
  const told = (key: string, value: unknown) => ({
    id: key,
    kind: 'ConversationStateUpdateEvent',
    key,
    value,
  });
  const cases = [
    [
      [told('execution_status', 'running'), told('execution_status', 'stuck'), told('title', 'idle')],
      'stuck',
    ],
    [[told('full_state', { execution_status: 'error' })], 'error'],
  ] as const;
  for (const [list, status] of cases) {
    // Should the machine be so busy that the event is old when it is read, the agent server is asked, and says otherwise.
    do t.equal((await rig.api('POST', events, list, info.session_api_key)).status, 200);
    while ((await read(rig, id)).execution_status !== status);
  }
  const other = [{ ...told('execution_status', 'finished'), kind: 'MessageEvent' }, 1, null];
  await rig.api('POST', events, other, info.session_api_key);
  t.not((await read(rig, id)).execution_status, 'finished');
  await until(rig, id, ({ execution_status: status }) => status === 'waiting_for_confirmation');
  await tell(info, 'PUT', '', { execution_status: 'a mood' });
  t.equal((await read(rig, id)).execution_status, 'waiting_for_confirmation');
  const page = await rig.api('GET', `${PATH}/search`);
  t.equal(at(page, 'items.0.execution_status'), 'waiting_for_confirmation');
  await rig.api('POST', `/api/v1/sandboxes/${info.sandbox_id}/pause`);
  t.match(await read(rig, id), { sandbox_status: 'PAUSED', execution_status: null });
});

t.test('tags set on the agent server are in our rows, tags set here are there', async (t) => {
  const rig = await startRig(t);
  const info = await start(rig, { tags: { old: '1' } });
  await tell(info, 'PATCH', '', { tags: { costcenter: '4711', project: 'p' }, title: 'From there' });
  await until(rig, info.id, ({ tags }) => tags['costcenter'] === '4711');
  t.strictSame(await tagsOfCall(rig, info), ['costcenter:4711', 'project:p']);
  t.match(await read(rig, info.id), { title: 'From there', tags: { costcenter: '4711' } });

  const patched = await rig.api('PATCH', `${PATH}/${info.id}`, {
    tags: { team: 'blue' },
    title: 'From here',
  });
  t.match(patched.json, { tags: { team: 'blue' }, title: 'From here' });
  const ids = dashedUrl(info).slice(-36);
  const [there] = (await tell(info, 'GET', `/api/conversations?ids=${ids}`)) as [Info];
  t.match(there, { title: 'From here' });
  t.strictSame(there.tags, { team: 'blue' });
  t.strictSame(await tagsOfCall(rig, info), ['team:blue']);

  // A report that was overtaken on its way.
  const late = { tags: { old: '2' }, updated_at: '2020-01-01T00:00:00' };
  const key = info.session_api_key;
  t.equal((await rig.api('POST', '/api/v1/webhooks/conversations', { id: ids, ...late }, key)).status, 200);
  t.strictSame((await read(rig, info.id)).tags, { team: 'blue' });
  for (const tags of [{ 'No Name': 'x' }, { a: 'x'.repeat(257) }, { a: 1 }, []]) {
    const refused = await rig.api('POST', '/api/v1/webhooks/conversations', { id: ids, tags }, key);
    t.equal(refused.status, 422, JSON.stringify(tags));
  }
});

t.test('tags set here while the sandbox is paused reach it when it is resumed', async (t) => {
  const rig = await startRig(t);
  const info = await start(rig, { tags: { old: '1' } });
  await rig.api('POST', `/api/v1/sandboxes/${info.sandbox_id}/pause`);
  await rig.api('PATCH', `${PATH}/${info.id}`, { tags: { team: 'blue' } });
  t.strictSame(await tagsOfCall(rig, info), ['team:blue'], 'in our rows at once');
  await rig.api('POST', `/api/v1/sandboxes/${info.sandbox_id}/resume`);
  const ids = dashedUrl(info).slice(-36);
  for (;;) {
    t.strictSame((await read(rig, info.id)).tags, { team: 'blue' }, 'what is there does not win meanwhile');
    const [there] = (await tell(info, 'GET', `/api/conversations?ids=${ids}`)) as [Info];
    if (there.tags['team'] === 'blue') break;
    await beforeNextLook();
  }
});

/** A conversation whose event is kept, and the database behind. */
async function startWithEvent(t: Test) {
  const rig = await startRig(t, `${TAKES}  events: { keep: true }\n`);
  const { id, sandbox_id: sandbox, session_api_key: key } = await start(rig, {});
  const event = { id: 'e', kind: 'MessageEvent', timestamp: '2026-01-01T00:00:00', source: 'user' };
  t.equal((await rig.api('POST', `/api/v1/webhooks/events/${id}`, [event], key)).status, 200);
  const db = new DatabaseSync(join(rig.folder, 'data', 'platform.db'));
  t.teardown(() => db.close());
  return { rig, id, sandbox, db };
}

t.test('a conversation that cannot be deleted as a whole is deleted by the next try', async (t) => {
  const { rig, id, sandbox, db } = await startWithEvent(t);
  const stored = (kind: string): unknown =>
    db.prepare('SELECT count(*) AS n FROM items WHERE kind = ?').get(kind)?.['n'];
  for (const kind of ['sandbox', 'event']) {
    db.exec(`CREATE TRIGGER broken BEFORE DELETE ON items WHEN OLD.kind = '${kind}'
      BEGIN SELECT RAISE(ABORT, 'no space'); END`);
    t.equal((await rig.api('DELETE', `${PATH}/${id}`)).status, 500, kind);
    t.equal(stored('conversation'), 1, 'it is still there to be deleted');
    db.exec('DROP TRIGGER broken');
  }
  t.equal((await rig.api('DELETE', `${PATH}/${id}`)).status, 200);
  for (const kind of ['conversation', 'sandbox', 'event', 'event_log']) t.equal(stored(kind), 0, kind);
  t.equal((await rig.api('GET', `/api/v1/sandboxes?id=${sandbox}`)).text, '[null]');
  t.equal((await rig.api('DELETE', `${PATH}/${id}`)).status, 404);
});

t.test('a sandbox that comes while its conversation is being deleted goes with it', async (t) => {
  const { rig, id, sandbox, db } = await startWithEvent(t);
  const linked = (to: string): string =>
    `UPDATE items SET link = ${to} WHERE kind = 'conversation' AND id = '${id}'`;
  db.exec(linked('NULL')); // as while it is being started
  db.exec(`CREATE TRIGGER started AFTER DELETE ON items WHEN OLD.kind = 'event'
    BEGIN ${linked(`'${sandbox}'`)}; END`);
  const deleted = await rig.api('DELETE', `${PATH}/${id}`);
  t.match(deleted.json, { success: true, detail: 'its sandbox was deleted too' });
  t.equal((await rig.api('GET', `/api/v1/sandboxes?id=${sandbox}`)).text, '[null]');
});

t.test('a deleted conversation goes on its agent server too, or the answer says why not', async (t) => {
  const rig = await startRig(t);
  const first = await start(rig, {});
  const [second, third] = [
    await start(rig, { sandbox_id: first.sandbox_id }),
    await start(rig, { sandbox_id: first.sandbox_id }),
  ];
  const outcome = async ({ id }: Info): Promise<unknown> =>
    at(await rig.api('DELETE', `${PATH}/${id}`), 'detail');
  t.equal(await outcome(second), 'deleted on its agent server too');
  t.same(await tell(first, 'GET', `/api/conversations?ids=${dashedUrl(second).slice(-36)}`), [null]);
  await tell(third, 'DELETE', '?idle');
  t.equal(await outcome(third), 'its agent server did not know it');
  const fourth = await start(rig, { sandbox_id: first.sandbox_id });
  await rig.api('POST', `/api/v1/sandboxes/${first.sandbox_id}/pause`);
  t.equal(await outcome(fourth), 'not deleted on its agent server: the sandbox is PAUSED');
  t.equal(await outcome(first), 'its sandbox was deleted too');
  const alone = await startPlatform(t);
  const { json } = await alone.api('POST', PATH, {});
  const { app_conversation_id: id } = json as { readonly app_conversation_id: string };
  t.same((await alone.api('DELETE', `${PATH}/${id}`)).json, { success: true, detail: null });
});

t.test('two conversations that are deleted at once take the sandbox that they share with them', async (t) => {
  const rig = await startRig(t);
  const first = await start(rig, {});
  const second = await start(rig, { sandbox_id: first.sandbox_id });
  const deleted = await Promise.all([first, second].map(({ id }) => rig.api('DELETE', `${PATH}/${id}`)));
  t.same(
    deleted.map(({ status }) => status),
    [200, 200],
  );
  t.equal((await rig.api('GET', `/api/v1/sandboxes?id=${first.sandbox_id}`)).text, '[null]');
});
