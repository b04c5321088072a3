// Sandboxes as containers: what the Engine is asked for, and what its answers become.
import { mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { at, ended, startPlatform, until, type PlatformRig } from '../fixture/rig.ts';
import { startEngine, type Engine } from '../fixture/engine.ts';
import { tempDir } from '../../proxy/spend/store/fixture/temp-dir.ts';

const PATH = '/api/v1/sandboxes';

async function start(t: Test, folder?: string): Promise<{ rig: PlatformRig; engine: Engine }> {
  const place = mkdtempSync(join(tmpdir(), 'engine-')); // socket paths are short: 108 bytes
  const engine = await startEngine(join(place, 'docker.sock'), ['agent:1', 'agent:3']);
  t.teardown(async () => {
    await engine.close();
    rmSync(place, { recursive: true, force: true });
  });
  return { engine, rig: await rigOn(t, engine, folder) };
}

const rigOn = (t: Test, engine: Engine, folder?: string): Promise<PlatformRig> =>
  startPlatform(t, {
    ...(folder === undefined ? {} : { folder }),
    platform: `
  sandbox: { driver: docker, docker_socket: ${engine.socket}, start_timeout_seconds: 600 }
  sandbox_specs:
    - id: agent
      image: agent:1
      command: [agent-server, --port, "{port}"]
      working_dir: "{sandbox_dir}/work"
      initial_env: { A: b }
      limits: { memory_mb: 512, cpus: 1.5, processes: 100, open_files: 1024 }
    - { id: absent, image: "agent:2" }
    - { id: plain, image: "agent:1" }
    - { id: third, image: "agent:3" }
`,
  });

t.test(
  'a container is made with its limits and without privileges, paused, resumed and removed',
  async (t) => {
    const { rig, engine } = await start(t);
    const started = await rig.api('POST', PATH);
    const id = String(at(started, 'id'));
    const sandbox = await until(rig, id, 'RUNNING');
    const [container] = engine.containers.values();
    t.match(container?.body, {
      Image: 'agent:1',
      Cmd: ['agent-server', '--port', '8000'],
      WorkingDir: '/sandbox/work',
      Labels: { 'throughline.sandbox.id': id },
      HostConfig: {
        PortBindings: { '8000/tcp': [{ HostIp: '127.0.0.1', HostPort: '' }] },
        Memory: 536870912,
        NanoCpus: 1500000000,
        PidsLimit: 100,
        CapDrop: ['ALL'],
        SecurityOpt: ['no-new-privileges'],
        Init: true,
      },
    });
    t.same(
      container?.body.Env.filter((one) => !one.includes('SESSION')),
      ['A=b', 'HISTFILE=/dev/null'],
    );
    t.ok(container?.body.Env.includes(`SESSION_API_KEY=${String(sandbox['session_api_key'])}`));
    t.equal((await rig.api('POST', `${PATH}/${id}/pause`)).status, 200);
    t.equal(container?.status, 'paused');
    t.equal((await rig.api('POST', `${PATH}/${id}/resume`)).status, 200);
    t.equal(container?.status, 'running');
    t.equal((await rig.api('DELETE', `${PATH}/${id}`)).status, 200);
    t.equal(engine.containers.size, 0);
  },
);

t.test('a spec without limits still bounds its container', async (t) => {
  const { rig, engine } = await start(t);
  await rig.api('POST', `${PATH}?sandbox_spec_id=plain`);
  const [container] = engine.containers.values();
  t.match(container?.body, {
    HostConfig: {
      Memory: 4_294_967_296,
      MemorySwap: 4_294_967_296,
      NanoCpus: 2_000_000_000,
      PidsLimit: 1_024,
    },
  });
});

t.test('an image in the settings chooses the spec that runs it, V1 before V0', async (t) => {
  const { rig } = await start(t);
  const START = '/api/v1/app-conversations';
  const used = async (): Promise<unknown> => {
    const task = await ended(rig, String(at(await rig.api('POST', START, {}), 'id')));
    const sandbox = await rig.api('GET', `${PATH}?id=${String(task['sandbox_id'])}`);
    await rig.api('DELETE', `${START}/${String(task['app_conversation_id'])}`);
    return at(sandbox, '0.sandbox_spec_id');
  };
  await rig.api('POST', '/api/settings', { sandbox_base_container_image: 'agent:3' });
  t.equal(await used(), 'third');
  await rig.api('POST', '/api/settings', {
    sandbox_base_container_image: 'agent:1',
    sandbox_runtime_container_image: 'agent:3',
  });
  t.equal(await used(), 'third', 'the runtime image goes before the base image');
  await rig.api('POST', '/api/v1/settings', { sandbox_base_container_image: 'agent:1' });
  t.equal(await used(), 'agent', 'the first spec with the image');
  await rig.api('POST', '/api/v1/settings', { default_sandbox_spec_id: 'plain' });
  t.equal(await used(), 'plain');
});

t.test('an image that was not pulled is said so, and nothing is left', async (t) => {
  const { rig, engine } = await start(t);
  const refused = await rig.api('POST', `${PATH}?sandbox_spec_id=absent`);
  t.same(
    [refused.status, refused.json],
    [500, { detail: 'the image agent:2 is not on the Docker Engine; pull it there' }],
  );
  t.equal(engine.containers.size, 0);
});

t.test(
  'a restart takes over what runs, tells what ended or is lost, and removes its own strays only',
  async (t) => {
    const folder = tempDir(t);
    const { rig: first, engine } = await start(t, folder);
    const ids: string[] = [];
    for (let n = 0; n < 3; n += 1) {
      const started = await first.api('POST', PATH);
      ids.push(String(at(started, 'id')));
      await until(first, ids[n] as string, 'RUNNING');
    }
    const [home = ''] = [...engine.containers.values()].map(
      ({ body }) => body.Labels['throughline.sandbox.home'],
    );
    await first.stop();
    engine.end(`throughline-sandbox-${ids[1]}`, 3);
    engine.vanish(`throughline-sandbox-${ids[2]}`);
    engine.plant('throughline-sandbox-stray', {
      'throughline.sandbox.id': 'stray',
      'throughline.sandbox.home': home,
    });
    engine.plant('throughline-sandbox-other', {
      'throughline.sandbox.id': 'other',
      'throughline.sandbox.home': 'of another server',
    });
    const second = await rigOn(t, engine, folder);
    const { json } = await second.api('GET', `${PATH}?id=${ids.join('&id=')}`);
    t.match(json, [
      { status: 'RUNNING' },
      { status: 'ERROR', status_detail: 'the container ended with code 3' },
      { status: 'MISSING', status_detail: 'the container is not there any more' },
    ]);
    const names = [...engine.containers.values()].map(({ name }) => name);
    t.notOk(names.includes('throughline-sandbox-stray'));
    t.ok(names.includes('throughline-sandbox-other'));
  },
);

t.test('servers whose data directories have the same path leave each other their containers', async (t) => {
  const folder = tempDir(t);
  const { rig: first, engine } = await start(t, folder);
  const id = String(at(await first.api('POST', PATH), 'id'));
  await until(first, id, 'RUNNING');
  await first.stop();
  const [data, aside] = [join(folder, 'data'), join(folder, 'data-of-the-first')];
  renameSync(data, aside); // as in two containers, each with a volume of its own at this path
  const second = await rigOn(t, engine, folder);
  t.equal(engine.containers.size, 1, 'it is no stray: another server knows it');
  await second.stop();
  renameSync(data, join(folder, 'data-of-the-second'));
  renameSync(aside, data);
  const again = await rigOn(t, engine, folder);
  t.match((await again.api('GET', `${PATH}?id=${id}`)).json, [{ status: 'RUNNING' }]);
});

t.test('an Engine that does not answer fails the call, not the server', async (t) => {
  const { rig, engine } = await start(t);
  const started = await rig.api('POST', PATH);
  const id = String(at(started, 'id'));
  await until(rig, id, 'RUNNING');
  await engine.close();
  const paused = await rig.api('POST', `${PATH}/${id}/pause`);
  t.same([paused.status, paused.json], [502, { detail: 'the Docker Engine does not answer' }]);
  t.equal((await rig.api('POST', PATH)).status, 500);
  t.equal((await rig.api('GET', '/api/v1/settings/profiles')).status, 200);
});
