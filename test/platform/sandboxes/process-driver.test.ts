// Sandboxes as real processes: what they see, their states, and that nothing of them is ever left behind.
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { once } from 'node:events';
import { spawn, spawnSync } from 'node:child_process';
import { homedir } from 'node:os';
import { DatabaseSync } from 'node:sqlite';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { markedProcesses } from '../../../platform/sandboxes/process-table.ts';
import { bubblewrapFor, commandLine, passwdOf } from '../../../platform/sandboxes/isolation.ts';
import { killMarked } from '../fixture/sandbox-processes.ts';
import { at, ended, RUNTIME, specs, startPlatform, until, type PlatformRig } from '../fixture/rig.ts';
import { beforeNextLook } from '../../support/patience.ts';
import { tempDir } from '../../proxy/spend/store/fixture/temp-dir.ts';

const PATH = '/api/v1/sandboxes';
const NO_BUBBLEWRAP =
  (await bubblewrapFor('auto', process.env['PATH'] ?? '')) === null && 'bubblewrap does not work here';

interface Sandbox {
  readonly id: string;
  readonly session_api_key: string;
  readonly exposed_urls: readonly { readonly name: string; readonly url: string; readonly port: number }[];
}

/** Sandboxes end with the test, whatever its end. */
async function startWith(t: Test, more = '', isolation = 'none', folder?: string): Promise<PlatformRig> {
  const rig = await startPlatform(t, {
    platform: specs(more, isolation),
    ...(folder === undefined ? {} : { folder }),
  });
  const dataDir = join(rig.folder, 'data');
  t.teardown(async () => {
    await killMarked(dataDir);
  });
  return rig;
}

async function running(rig: PlatformRig, query = ''): Promise<Sandbox> {
  const started = await rig.api('POST', `${PATH}${query}`);
  if (started.status !== 200) throw new Error(started.text);
  return (await until(rig, String(at(started, 'id')), 'RUNNING')) as unknown as Sandbox;
}

async function ask(
  { exposed_urls: [exposed], session_api_key: key }: Sandbox,
  path: string,
): Promise<unknown> {
  const response = await fetch(`${exposed?.url}${path}`, { headers: { 'x-session-api-key': key } });
  return response.json();
}

const statusOf = async (rig: PlatformRig, { id }: { id: string }): Promise<unknown> =>
  at(await rig.api('GET', `${PATH}?id=${id}`), '0.status');

const alive = async (rig: PlatformRig): Promise<number> =>
  (await markedProcesses(join(rig.folder, 'data'))).length;

t.test(
  'a sandbox starts, answers with its key, is paused, resumed and removed with all its processes',
  async (t) => {
    const rig = await startWith(t);
    const started = await rig.api('POST', PATH);
    t.match(started.json, {
      id: /^[0-9A-Za-z]{22}$/,
      sandbox_spec_id: 'default',
      status: 'STARTING',
      session_api_key: null,
      exposed_urls: null,
    });
    const sandbox = (await until(rig, String(at(started, 'id')), 'RUNNING')) as unknown as Sandbox;
    t.match(sandbox.exposed_urls, [{ name: 'AGENT_SERVER', url: /^http:\/\/127\.0\.0\.1:\d+$/ }]);
    const environment = (await ask(sandbox, '/environment')) as Record<string, string>;
    t.match(environment, {
      SESSION_API_KEY: sandbox.session_api_key,
      OH_SESSION_API_KEYS_0: sandbox.session_api_key,
      FROM_SPEC: sandbox.id,
      HISTFILE: '/dev/null', // else bash keeps the secrets that an agent typed
      OH_WEBHOOKS_0_BASE_URL: `${rig.url}/api/v1/webhooks`,
    });
    t.equal(environment['HOME'], join(rig.folder, 'data', 'sandboxes', sandbox.id));
    t.notOk(
      Object.keys(environment).some((name) => /PLATFORM|MASTER/.test(name)),
      'nothing of the server is inherited',
    );
    t.ok(existsSync(join(rig.folder, 'data', 'sandboxes', sandbox.id, 'sandbox.log')));
    await ask(sandbox, '/leave');
    t.equal(await alive(rig), 2, 'a child that left the process group is known');
    t.same((await rig.api('POST', `${PATH}/${sandbox.id}/pause`, {})).json, { success: true });
    t.equal(await statusOf(rig, sandbox), 'PAUSED');
    const states = (await markedProcesses(join(rig.folder, 'data'))).map(({ state }) => state);
    t.same(states, ['T', 'T'], 'both are stopped');
    t.equal(
      at(await rig.api('GET', `${PATH}?id=${sandbox.id}`), '0.session_api_key'),
      null,
      'a key is shown while it runs',
    );
    t.equal((await rig.api('POST', `${PATH}/${sandbox.id}/pause`)).status, 200, 'pausing twice is no error');
    for (let times = 0; times < 2; times += 1)
      t.equal((await rig.api('POST', `${PATH}/${sandbox.id}/resume`)).status, 200);
    t.same(await ask(sandbox, '/conversations'), []);
    t.same((await rig.api('DELETE', `${PATH}/${sandbox.id}?sandbox_id=${sandbox.id}`)).json, {
      success: true,
    });
    t.equal(await alive(rig), 0, 'nothing is left of it');
    t.same(readdirSync(join(rig.folder, 'data', 'sandboxes')), []);
    t.same((await rig.api('GET', `${PATH}?id=${sandbox.id}`)).json, [null]);
    for (const [method, path] of [
      ['POST', `${sandbox.id}/pause`],
      ['POST', `${sandbox.id}/resume`],
      ['DELETE', sandbox.id],
    ] as const)
      t.equal((await rig.api(method, `${PATH}/${path}`)).status, 404, path);
    t.equal((await rig.api('DELETE', `${PATH}/a?sandbox_id=b`)).status, 422);
  },
);

t.test('requests choose a spec and state no command; their environment is not shown', async (t) => {
  const rig = await startWith(t, '    - { id: other, command: ["/bin/false"] }\n');
  const { json } = await rig.api('GET', '/api/v1/sandbox-specs/search');
  t.match(json, {
    items: [
      { id: 'default', initial_env: {}, working_dir: '{sandbox_dir}' },
      { id: 'other', command: ['/bin/false'] },
    ],
    next_page_id: null,
  });
  t.match((await rig.api('GET', '/api/v1/sandbox-specs?id=other&id=none')).json, [{ id: 'other' }, null]);
  t.equal((await rig.api('POST', `${PATH}?sandbox_spec_id=none`)).status, 404);
  const off = await startPlatform(t);
  const refused = await off.api('POST', PATH);
  t.equal(refused.status, 409);
  t.match(refused.json, { detail: /platform\.sandbox_specs/ });
});

t.test('a command that is missing or ends is an ERROR with its reason', async (t) => {
  const rig = await startWith(
    t,
    '    - { id: missing, command: ["no-such-program"] }\n    - { id: ends, command: ["/bin/sh", "-c", "exit 7"] }\n',
  );
  const missing = await rig.api('POST', `${PATH}?sandbox_spec_id=missing`);
  t.same([missing.status, missing.json], [500, { detail: 'the command no-such-program was not found' }]);
  const ends = await rig.api('POST', `${PATH}?sandbox_spec_id=ends`);
  let sandbox: unknown;
  for (;;) {
    sandbox = at(await rig.api('GET', `${PATH}?id=${String(at(ends, 'id'))}`), '0');
    if ((sandbox as { status: string }).status !== 'STARTING') break;
    await beforeNextLook();
  }
  t.match(sandbox, { status: 'ERROR', status_detail: 'the command ended with code 7; see its sandbox.log' });
  t.equal((await rig.api('POST', `${PATH}/${String(at(ends, 'id'))}/resume`)).status, 409);
  t.match((await rig.api('GET', `${PATH}/search?limit=1`)).json, {
    items: [{ status: 'ERROR' }],
    next_page_id: '1',
  });
});

t.test(
  "one more than the limit pauses the own one that was idle longest, and never somebody else's",
  async (t) => {
    const users = '[{ key: key-of-alice, user_id: alice }, { key: key-of-bob, user_id: bob }]';
    const rig = await startPlatform(t, { platform: specs('', 'none'), users });
    const dataDir = join(rig.folder, 'data');
    t.teardown(async () => {
      await killMarked(dataDir);
    });
    const as = (key: string): PlatformRig => ({
      ...rig,
      api: (method, path, body) => rig.api(method, path, body, key),
    });
    const [alice, bob] = [as('key-of-alice'), as('key-of-bob')];
    const first = await running(alice);
    const second = await running(alice);
    t.equal((await bob.api('POST', PATH)).status, 409, 'both places are of alice');
    const third = await running(alice);
    t.same(
      [await statusOf(alice, first), await statusOf(alice, second), await statusOf(alice, third)],
      ['PAUSED', 'RUNNING', 'RUNNING'],
    );
    await alice.api('POST', `${PATH}/${first.id}/resume`);
    t.equal(await statusOf(alice, second), 'PAUSED', 'resuming takes a place too');
    t.equal((await bob.api('DELETE', `${PATH}/${first.id}`)).status, 404);
  },
);

t.test('one that was given up as ended or lost, and lives, is RUNNING again', async (t) => {
  const folder = tempDir(t);
  const first = await startWith(t, '', 'none', folder);
  const [one, two] = [await running(first), await running(first)];
  await first.stop();
  const db = new DatabaseSync(join(folder, 'data', 'platform.db'));
  const rows = db.prepare(
    "UPDATE items SET body = json_set(json_remove(body, '$.unhealthy'), '$.status', ?) WHERE id = ?",
  );
  rows.run('ERROR', one.id); // as an earlier version wrote it after 16 s without an answer
  rows.run('MISSING', two.id);
  db.close();
  const second = await startWith(t, '', 'none', folder);
  for (const { id } of [one, two]) {
    while ((await statusOf(second, { id })) !== 'RUNNING') await beforeNextLook();
    t.match(await second.api('GET', `${PATH}?id=${id}`), {
      json: [{ status: 'RUNNING', status_detail: null }],
    });
  }
  t.same(await ask(one, '/conversations'), [], 'with the same key and address');
});

t.test('after a restart running ones are taken over, lost ones are told, strays are ended', async (t) => {
  const folder = tempDir(t);
  const first = await startWith(t, '', 'none', folder);
  const kept = await running(first);
  const lost = await running(first);
  await first.stop();
  const dataDir = join(folder, 'data');
  const processes = await markedProcesses(dataDir);
  t.equal(processes.length, 2, 'sandboxes outlive the server');
  const victim = processes.find(({ sandboxId }) => sandboxId === lost.id);
  process.kill(victim?.pid ?? 0, 'SIGKILL');
  const stray = spawn('sleep', ['1000'], {
    env: { THROUGHLINE_SANDBOX_ID: 'stray', THROUGHLINE_SANDBOX_HOME: dataDir, PATH: process.env['PATH'] },
  });
  await once(stray, 'spawn');
  const gone = once(stray, 'exit');
  while ((await markedProcesses(dataDir)).some(({ sandboxId }) => sandboxId === lost.id))
    await beforeNextLook(); // the kernel is at it
  const second = await startWith(t, '', 'none', folder);
  t.same((await gone)[1], 'SIGTERM', 'a process that no record knows is ended');
  t.equal(await statusOf(second, kept), 'RUNNING');
  t.same(await ask(kept, '/conversations'), [], 'with the same key and address');
  t.match(await second.api('GET', `${PATH}?id=${lost.id}`), {
    json: [{ status: 'MISSING', status_detail: /no process/ }],
  });
  await second.api('DELETE', `${PATH}/${kept.id}`);
  t.equal(await alive(second), 0);
});

t.test(
  'a conversation gets a sandbox of its own, is handed over, and takes it along when it goes',
  async (t) => {
    const rig = await startWith(t, '      conversations_path: /api/conversations\n');
    const llm = { model: 'openai/demo', temperature: 0.5, extra_headers: { 'X-P': 'a' } };
    await rig.api('POST', '/api/v1/settings/profiles/a', { llm });
    await rig.api('POST', '/api/v1/settings/profiles/a/activate');
    const message = { role: 'user', content: [{ type: 'text', text: 'Hello' }], run: true };
    const begun = await rig.api('POST', '/api/v1/app-conversations', {
      title: 'x',
      tags: { a: 'b' },
      initial_message: message,
      secrets: { TOKEN: 'secret-token' },
    });
    t.match(begun.json, { status: 'WORKING', app_conversation_id: String });
    t.notMatch(begun.text, 'secret-token');
    const task = await ended(rig, String(at(begun, 'id')));
    t.match(task, { status: 'READY', sandbox_id: String, agent_server_url: /^http/ });
    const { json } = await rig.api(
      'GET',
      `/api/v1/app-conversations?ids=${String(task['app_conversation_id'])}`,
    );
    const [conversation] = json as [Record<string, string>];
    t.match(conversation, {
      sandbox_id: task['sandbox_id'],
      sandbox_status: 'RUNNING',
      conversation_url: /\/api\/conversations\/[0-9a-f]{32}$/,
    });
    const sandbox = at(await rig.api('GET', `${PATH}?id=${String(task['sandbox_id'])}`), '0') as Sandbox;
    t.equal(conversation['session_api_key'], sandbox.session_api_key);
    const environment = await ask(sandbox, '/environment');
    t.match(environment, {
      LLM_BASE_URL: conversation['llm_base_url'],
      LLM_API_KEY: conversation['llm_api_key'],
      LLM_MODEL: 'openai/demo',
      CONVERSATION_ID: conversation['id'],
    });
    t.match(await ask(sandbox, '/conversations'), [
      {
        conversation_id: /^[0-9a-f]{8}-/,
        tags: { a: 'b' },
        initial_message: message,
        workspace: { working_dir: join(rig.folder, 'data', 'sandboxes', sandbox.id) },
        agent_settings: {
          agent_kind: 'openhands',
          llm: {
            model: 'openai/demo',
            temperature: 0.5,
            base_url: conversation['llm_base_url'],
            api_key: conversation['llm_api_key'],
          },
        },
        secrets: { TOKEN: { kind: 'StaticSecret', value: 'secret-token' } },
      },
    ]);
    const again = await rig.api('POST', '/api/v1/app-conversations', { sandbox_id: sandbox.id });
    t.match(
      await ended(rig, String(at(again, 'id'))),
      { status: 'READY', sandbox_id: sandbox.id },
      'a second one shares it',
    );
    t.equal((await rig.api('GET', `/api/v1/app-conversations/count?sandbox_id__eq=${sandbox.id}`)).json, 2);
    await rig.api('DELETE', `/api/v1/app-conversations/${conversation['id']}`);
    t.equal(await statusOf(rig, sandbox), 'RUNNING', 'somebody uses it still');
    await rig.api('DELETE', `/api/v1/app-conversations/${String(at(again, 'app_conversation_id'))}`);
    t.same((await rig.api('GET', `${PATH}?id=${sandbox.id}`)).json, [null]);
    t.equal(await alive(rig), 0);
    t.equal((await rig.api('POST', '/api/v1/app-conversations', { sandbox_id: 'nobody' })).status, 404);
  },
);

t.test('a conversation whose sandbox does not start is told as failed, and can be deleted', async (t) => {
  const rig = await startWith(t, '    - { id: ends, command: ["/bin/false"] }\n');
  await rig.api('POST', '/api/v1/settings', { default_sandbox_spec_id: 'ends' });
  const begun = await rig.api('POST', '/api/v1/app-conversations', {});
  const task = await ended(rig, String(at(begun, 'id')));
  t.match(task, { status: 'ERROR', detail: /ended with code 1/ });
  const id = String(task['app_conversation_id']);
  t.match((await rig.api('GET', `/api/v1/app-conversations?ids=${id}`)).json, [
    { sandbox_status: 'ERROR', conversation_url: null },
  ]);
  t.equal((await rig.api('DELETE', `/api/v1/app-conversations/${id}`)).status, 200);
});

t.test(
  'bubblewrap shows a sandbox its own folder and programs, and nothing of the server or other processes',
  { skip: NO_BUBBLEWRAP },
  async (t) => {
    const rig = await startWith(t, '      limits: { open_files: 256 }\n', 'bubblewrap');
    const sandbox = await running(rig);
    const own = join(rig.folder, 'data', 'sandboxes', sandbox.id);
    t.equal(await ask(sandbox, `/sees?path=${join(own, 'sandbox.log')}`), true);
    for (const hidden of [
      join(rig.folder, 'data', 'platform.db'),
      join(rig.folder, 'gateway.yaml'),
      '/etc/shadow',
      '/etc/ssl/private',
      '/root',
      '/home',
      '/run',
      '/var',
      '/sys',
    ])
      t.equal(await ask(sandbox, `/sees?path=${hidden}`), false, hidden);
    t.equal(await ask(sandbox, `/sees?path=/proc/${process.pid}/cmdline`), process.pid < 10);
    await ask(sandbox, '/leave');
    t.equal((await rig.api('POST', `${PATH}/${sandbox.id}/pause`)).status, 200);
    t.ok((await markedProcesses(join(rig.folder, 'data'))).every(({ state }) => state === 'T'));
    t.equal((await rig.api('POST', `${PATH}/${sandbox.id}/resume`)).status, 200);
    t.same(await ask(sandbox, '/conversations'), []);
    await rig.api('DELETE', `${PATH}/${sandbox.id}`);
    t.equal(await alive(rig), 0);
  },
);

t.test('bubblewrap leaves no way out, root or not', { skip: NO_BUBBLEWRAP }, async (t) => {
  const bubblewrap = await bubblewrapFor('bubblewrap', process.env['PATH'] ?? '');
  const own = t.testdir();
  writeFileSync(join(own, 'passwd'), passwdOf(own));
  const spec = {
    id: 'shell',
    readablePaths: [],
    limits: { memoryMb: null, cpuSeconds: null, openFiles: null },
  };
  const shell = (command: string): { stdout: string; status: number | null } => {
    const folders = { own, working: own, path: process.env['PATH'] ?? '' };
    const [file, ...args] = commandLine(spec, ['/bin/sh', '-c', command], bubblewrap, folders);
    const passwd = openSync(join(own, 'passwd'), 'r');
    const env = { PATH: process.env['PATH'], HOME: own };
    const ended = spawnSync(file, args, {
      env,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore', passwd],
    });
    closeSync(passwd);
    return ended;
  };
  t.equal(shell('id -u; id -un').stdout, '1000\nsandbox\n');
  t.match(shell('grep Cap /proc/self/status').stdout, /^(Cap\w+:\t0{16}\n){5}$/);
  t.match(shell('grep NoNewPrivs /proc/self/status').stdout, /\t1\n$/);
  for (const command of [
    'mount -o remount,rw /',
    'mount -o remount,rw,bind /usr',
    'mount -t tmpfs none /mnt',
    'unshare --user --map-root-user true',
    'unshare --mount true',
    'touch /new',
    'touch /usr/new',
    'touch /etc/new',
    'echo x >> /etc/hosts',
    ': > /proc/sys/kernel/core_pattern', // opened for writing, with nothing written
    ': > /proc/sysrq-trigger',
    'mount -o remount,rw /proc/sys',
    'umount /proc/sys',
    'head -c 1 /proc/kcore | grep -q .',
    'mknod disk b 8 0',
    'nsenter --target 1 --mount cat /etc/shadow',
    'cat /proc/1/root/etc/shadow',
    'ln -s ../../platform.db out && cat out',
  ])
    t.not(shell(command).status, 0, command);
  t.equal(shell('touch "$HOME/new" /tmp/new && cat "$HOME/new"').status, 0, 'its own folder and /tmp');
});

t.test(
  'a command that is not in the sandbox is refused with the way to let it in',
  { skip: NO_BUBBLEWRAP },
  async (t) => {
    const folder = t.testdir({ tool: '#!/bin/sh\nsleep 600\n' });
    chmodSync(join(folder, 'tool'), 0o755);
    const more =
      `    - { id: outside, command: ["${folder}/tool"] }\n` +
      `    - { id: elsewhere, command: ["sleep", "600"], working_dir: "${folder}" }\n`;
    const rig = await startWith(t, more, 'bubblewrap');
    t.same((await rig.api('POST', `${PATH}?sandbox_spec_id=outside`)).json, {
      detail: `the command ${folder}/tool is not in the sandbox - add its folder to readable_paths of "outside"`,
    });
    t.match((await rig.api('POST', `${PATH}?sandbox_spec_id=elsewhere`)).json, {
      detail: /working_dir .* is not in the sandbox - use \{sandbox_dir\}/,
    });
  },
);

t.test('a readable path behind a link is seen under both its names', { skip: NO_BUBBLEWRAP }, async (t) => {
  const script = `#!/bin/sh\nexec "${process.execPath}" "${RUNTIME}" "$@"\n`;
  const folder = t.testdir({ disk: { tools: { run: script } }, others: {} });
  const [real, link] = [join(folder, 'disk', 'tools'), join(folder, 'tools')];
  chmodSync(join(real, 'run'), 0o755);
  const inner = join(folder, 'others', 'tools');
  symlinkSync(real, inner); // in a folder that is shown as a whole
  symlinkSync(real, link); // as /opt/tools may lead to /mnt/disk/tools
  const paths = [link, inner, dirname(inner), dirname(process.execPath), dirname(RUNTIME)];
  const rig = await startWith(
    t,
    `    - { id: linked, command: ["${link}/run", --port, "{port}"], readable_paths: ${JSON.stringify(paths)} }\n`,
    'bubblewrap',
  );
  const sandbox = await running(rig, '?sandbox_spec_id=linked');
  for (const place of [real, link, inner])
    t.equal(await ask(sandbox, `/sees?path=${place}/run`), true, place);
  t.equal(await ask(sandbox, `/sees?path=${rig.folder}/gateway.yaml`), false);
});

t.test('paths that would show the server to a sandbox stop the start', { skip: NO_BUBBLEWRAP }, async (t) => {
  const folder = tempDir(t);
  mkdirSync(join(folder, 'data'));
  symlinkSync('/run', join(folder, 'link'));
  for (const path of [
    '/',
    '/etc',
    '/run/secrets',
    '/proc',
    `${folder}`,
    join(folder, 'data', 'sandboxes'),
    join(folder, 'link'),
    homedir(),
  ]) {
    const spec = `    - { id: more, command: ["true"], readable_paths: ["${path}"] }\n`;
    await t.rejects(
      startWith(t, spec, 'auto', folder),
      { message: /readable_paths of "more" holds .* which would show .* to the sandbox/ },
      path,
    );
  }
});

t.test('with stop_with_server nothing runs on', async (t) => {
  const rig = await startPlatform(t, {
    platform: specs('', 'none').replace('max_running: 2,', 'max_running: 2, stop_with_server: true,'),
  });
  await running(rig);
  await rig.stop();
  t.equal(await alive(rig), 0);
});
