// What the agent server of a conversation carries out: which call it gets, what of its answer is passed on, and what is
// answered when it cannot be asked.
import t from 'tap';
import { at, SESSION_KEY, startPlatform, until } from '../fixture/rig.ts';
import { startRuntime, type RuntimeRig } from '../fixture/agent-server.ts';

const PATH = '/api/v1/app-conversations';
const USERS = '[{ key: session-key-of-the-tests, user_id: alice }, { key: key-of-bob, user_id: bob }]';
const TEXT = [{ type: 'text', text: 'go on' }];

const dashed = (id: string): string => id.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');

const json = (value: unknown, status = 200): object => ({ status, text: JSON.stringify(value) });

/** Every operation on the conversation, as a caller writes it. */
const operations = (id: string): readonly (readonly [method: string, path: string, body?: unknown])[] => [
  ['POST', `${PATH}/${id}/send-message`, { content: TEXT }],
  ['GET', `${PATH}/${id}/file?file_path=a`],
  ['GET', `${PATH}/${id}/download`],
  ['GET', `${PATH}/${id}/skills`],
  ['GET', `${PATH}/${id}/hooks`],
  ['GET', `${PATH}/${id}/git/changes?path=.`],
  ['GET', `${PATH}/${id}/git/diff?path=a`],
  ['GET', `/api/v1/conversation/${id}/events/search`],
  ['GET', `/api/v1/conversation/${id}/events/count`],
  ['GET', `/api/v1/conversation/${id}/events?id=a`],
];

const last = async (rig: RuntimeRig) => {
  const one = (await rig.seen()).at(-1);
  if (one === undefined) throw new Error('nothing has come to the runtime');
  return one;
};

t.test(
  'a message goes to the conversation on the agent server, with the key of the sandbox alone',
  async (t) => {
    const rig = await startRuntime(t);
    const path = `/api/conversations/${dashed(rig.id)}/events`;
    await rig.tell(`POST ${path}`, json({ success: true }));
    const answer = await rig.api('POST', `${PATH}/${rig.id}/send-message`, { content: TEXT });
    t.same([answer.status, answer.json], [200, { success: true, sandbox_status: 'RUNNING', message: null }]);
    const { url, headers, body } = await last(rig);
    t.same([url, body], [path, { role: 'user', content: TEXT, run: true }]);
    t.equal(headers['x-session-api-key'], rig.sandboxKey);
    t.notMatch(JSON.stringify(headers), SESSION_KEY, "the caller's key stays here");
    await rig.api('POST', `${PATH}/${dashed(rig.id)}/send-message`, { content: TEXT, run: false });
    t.match((await last(rig)).body, { run: false });
    for (const body of [
      {},
      { content: [] },
      { content: TEXT, role: 'system' },
      { content: [{ type: 'text' }] },
    ])
      t.equal(
        (await rig.api('POST', `${PATH}/${rig.id}/send-message`, body)).status,
        422,
        JSON.stringify(body),
      );

    await rig.tell(`POST ${path}`, json({ detail: 'run capacity is full' }, 429));
    t.same((await rig.api('POST', `${PATH}/${rig.id}/send-message`, { content: TEXT })).json, {
      detail: 'The agent server refused it: run capacity is full',
    });
    for (const status of [500, 401, 302]) {
      const answer = { ...json({ detail: 'x'.repeat(9_000) }, status), headers: { location: '/' } };
      await rig.tell(`POST ${path}`, answer);
      const refused = await rig.api('POST', `${PATH}/${rig.id}/send-message`, { content: TEXT });
      t.equal(refused.status, 502, 'what is the fault of the sandbox is not that of the caller');
      t.ok(refused.text.length < 1_000);
    }
    await rig.tell(`POST ${path}`, { text: 'no JSON' });
    t.equal((await rig.api('POST', `${PATH}/${rig.id}/send-message`, { content: TEXT })).status, 502);
  },
);

t.test('a file is read as text from the working directory, within a size', async (t) => {
  const rig = await startRuntime(t);
  const file = (path: string) =>
    rig.api('GET', `${PATH}/${rig.id}/file?file_path=${encodeURIComponent(path)}`);
  await rig.tell('GET /api/file/download', {
    text: 'héllo "you"',
    headers: { 'content-type': 'text/html', 'set-cookie': 'a=b', 'x-secret': 's' },
  });
  const answer = await file('notes/a b&c.md');
  t.same([answer.status, answer.json], [200, 'héllo "you"']);
  t.equal(answer.headers['content-type'], 'application/json');
  t.same([answer.headers['set-cookie'], answer.headers['x-secret']], [undefined, undefined]);
  const asked = async (): Promise<string | null> =>
    new URL((await last(rig)).url, 'http://runtime').searchParams.get('path');
  t.equal(await asked(), `${rig.workingDir}/notes/a b&c.md`);
  for (const [path, wanted] of [
    ['/etc/hostname', '/etc/hostname'],
    ['/workspace/project/.agents_tmp/PLAN.md', `${rig.workingDir}/.agents_tmp/PLAN.md`],
    ['/workspace/project', rig.workingDir],
    ['/workspace/projects/a', '/workspace/projects/a'],
    ['a?path=/b#c', `${rig.workingDir}/a?path=/b#c`],
    ['http://169.254.169.254/latest', `${rig.workingDir}/http:/169.254.169.254/latest`],
  ] as const) {
    t.equal((await file(path)).status, 200);
    t.equal(await asked(), wanted, path);
  }
  await rig.api('GET', `${PATH}/${rig.id}/file`);
  t.equal(await asked(), `${rig.workingDir}/PLAN.md`, 'as the platform says');
  await rig.tell('GET /api/file/download', json({ detail: 'File not found' }, 404));
  t.same((await file('nothing')).json, '', 'as the platform answers');
  await rig.tell('GET /api/file/download', json({ detail: 'Path is not a file' }, 400));
  t.equal((await file('folder')).status, 400);
  await rig.tell('GET /api/file/download', { bytes: 4 * 1024 * 1024 });
  t.equal((await file('large')).status, 200);
  await rig.tell('GET /api/file/download', { bytes: 4 * 1024 * 1024 + 1 });
  const large = await file('larger');
  t.equal(large.status, 413);
  t.match(large.text, /larger than 4 MiB: ask the agent server itself/);
});

t.test('the export of a conversation is a zip file, whatever the sandbox calls it', async (t) => {
  const rig = await startRuntime(t);
  await rig.tell(`GET /api/file/download-trajectory/${rig.id}`, {
    text: 'PK..',
    headers: { 'content-type': 'text/html', 'content-disposition': 'inline; filename="x.html"' },
  });
  const answer = await rig.api('GET', `${PATH}/${rig.id}/download`);
  t.same([answer.status, answer.text], [200, 'PK..']);
  t.match(answer.headers, {
    'content-type': 'application/zip',
    'content-disposition': `attachment; filename="conversation_${rig.id}.zip"`,
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
  });
  await rig.tell(
    `GET /api/file/download-trajectory/${rig.id}`,
    json({ detail: 'Conversation not found' }, 404),
  );
  t.equal((await rig.api('GET', `${PATH}/${rig.id}/download`)).status, 404);
});

t.test('skills, hooks and git are those of the working directory', async (t) => {
  const rig = await startRuntime(t);
  const skills = [{ name: 'a', type: 'repo', content: 'b' }];
  await rig.tell('POST /api/skills', json({ skills, sources: { project: 1 } }));
  t.same((await rig.api('GET', `${PATH}/${rig.id}/skills`)).json, { skills });
  const { body } = await last(rig);
  await rig.tell('POST /api/skills', json({ skills: 'none' }));
  t.same((await rig.api('GET', `${PATH}/${rig.id}/skills`)).json, { skills: [] }, 'what is no list is none');
  t.match(body, { project_dir: rig.workingDir, load_public: false, load_org: false });
  const matchers = [{ matcher: '*', hooks: [{ type: 'command', command: 'a.sh' }] }];
  await rig.tell('POST /api/hooks', json({ hook_config: { pre_tool_use: matchers, stop: [] } }));
  t.same((await rig.api('GET', `${PATH}/${rig.id}/hooks`)).json, {
    hooks: [{ event_type: 'pre_tool_use', matchers }],
  });
  await rig.tell('POST /api/hooks', json({ hook_config: null }));
  t.same((await rig.api('GET', `${PATH}/${rig.id}/hooks`)).json, { hooks: [] });
  const changes = [{ status: 'ADDED', path: 'a' }];
  await rig.tell('GET /api/git/changes', json(changes));
  t.same(
    (await rig.api('GET', `${PATH}/${rig.id}/git/changes?path=/workspace/project&ref=HEAD`)).json,
    changes,
  );
  t.equal(
    (await last(rig)).url,
    `/api/git/changes?${new URLSearchParams({ path: rig.workingDir, ref: 'HEAD' })}`,
  );
  await rig.tell('GET /api/git/diff', json({ modified: 'a', original: null }));
  t.same((await rig.api('GET', `${PATH}/${rig.id}/git/diff?path=/workspace/project/a`)).json, {
    modified: 'a',
    original: null,
  });
  t.equal((await rig.api('GET', `${PATH}/${rig.id}/git/diff`)).status, 422, 'a path is needed');
  await rig.tell('GET /api/git/diff', json({ detail: 'no such ref' }, 400));
  t.equal((await rig.api('GET', `${PATH}/${rig.id}/git/diff?path=a&ref=nope`)).status, 400);
});

t.test('who cannot be asked says why: paused, gone, unknown, of another user', async (t) => {
  const rig = await startRuntime(t, { users: USERS });
  for (const [method, path, body] of operations(rig.id)) {
    t.equal((await rig.api(method, path, body, 'key-of-bob')).status, 404, `${path} of another user`);
    const unknown = path.replace(rig.id, 'f'.repeat(32));
    t.same((await rig.api(method, unknown, body)).json, { detail: 'unknown_app_conversation' });
    t.equal((await rig.api(method, path.replace(rig.id, '..%2f..'), body)).status, 422, path);
    t.equal(
      (await rig.api(method, path, body, rig.sandboxKey)).status,
      401,
      'a sandbox has no business here',
    );
  }
  await rig.api('POST', `/api/v1/sandboxes/${rig.sandboxId}/pause`);
  for (const [method, path, body] of operations(rig.id)) {
    const answer = await rig.api(method, path, body);
    t.equal(answer.status, 409, path);
    const resume = `POST /api/v1/sandboxes/${rig.sandboxId}/resume`;
    t.same(answer.json, { detail: `Sandbox is PAUSED. Use ${resume} to resume it first.` });
  }
  await rig.api('POST', `/api/v1/sandboxes/${rig.sandboxId}/resume`);
  await until(rig, rig.sandboxId, 'RUNNING');
  t.equal(at(await rig.api('GET', `/api/v1/sandboxes?id=${rig.sandboxId}`), '0.status'), 'RUNNING');
  await rig.api('DELETE', `/api/v1/sandboxes/${rig.sandboxId}`);
  for (const [method, path, body] of operations(rig.id))
    t.equal((await rig.api(method, path, body)).status, 410, path);
});

t.test('a conversation without a sandbox has no agent server to ask', async (t) => {
  const rig = await startPlatform(t);
  const id = String(at(await rig.api('POST', PATH, {}), 'app_conversation_id'));
  for (const [method, path, body] of operations(id)) {
    const answer = await rig.api(method, path, body);
    t.equal(answer.status, 410, path);
    t.match(answer.text, /sandbox/);
  }
});
