// The Dockerfile, built by buildah and started by runc. Its FROM images are in no package registry: under their name stands
// Debian by debootstrap with the Node and the npm of this machine.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT } from '../../support/cli.ts';
import { lastOf, pairsOf, readDockerfile, type Stage } from '../../support/dockerfile.ts';
import { freePort } from '../../support/free-port.ts';
import { Missing, until, type Case, type InteropRun, type Suite } from '../harness/suite.ts';

const BASE = 'docker.io/library/node:26-slim';
const SUITE = 'bookworm';
const CACHE = join(ROOT, 'node_modules', '.cache', 'throughline-interop', 'image');
const AUTHORITIES = '/etc/ssl/certs/ca-certificates.crt';
const KEY = 'sk-master';
/** Of the Dockerfile. */
const USER = 10001;

function must(program: string, args: readonly string[], cwd = ROOT): string {
  const ended = spawnSync(program, args, { cwd, encoding: 'utf8', maxBuffer: 1e8 });
  const { status, signal, stdout, stderr } = ended;
  if (status === 0) return stdout;
  throw new Error(
    `${program} ${args.join(' ')} (${signal ?? status})\n${stdout.slice(-1000)}${stderr.slice(-2000)}`,
  );
}

/** The first line of `program --version`. @throws Missing */
function versionOf(program: string): string {
  const { status, stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' });
  if (status !== 0) throw new Missing(`${program} is not installed (Debian: buildah, runc, debootstrap)`);
  return stdout.trim().split('\n')[0] ?? '';
}

/** A root with Debian, Node and npm; made once. */
function baseRoot(): string {
  const root = join(CACHE, `${SUITE}-${process.version}`);
  const complete = `${root}.complete`;
  if (existsSync(complete)) return root;
  console.error(`making a base with ${SUITE} and Node ${process.version} in ${root}`);
  rmSync(root, { recursive: true, force: true });
  mkdirSync(CACHE, { recursive: true });
  must('debootstrap', ['--variant=minbase', '--include=ca-certificates,libatomic1', SUITE, root]);
  const local = join(root, 'usr/local');
  copyFileSync(process.execPath, join(local, 'bin/node'));
  const npm = realpathSync(must('sh', ['-c', 'command -v npm']).trim());
  cpSync(join(dirname(npm), '..'), join(local, 'lib/node_modules/npm'), { recursive: true });
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(local, 'bin/npm'));
  // Where a company's proxy stands between, its certificate authority is in this machine's list alone.
  copyFileSync(AUTHORITIES, join(root, AUTHORITIES));
  mkdirSync(join(local, 'etc'), { recursive: true });
  writeFileSync(join(local, 'etc/npmrc'), `cafile=${AUTHORITIES}\n`);
  writeFileSync(complete, '');
  return root;
}

export const image: Suite = {
  name: 'image',
  about:
    'the Dockerfile built by buildah and started by runc, with a base that debootstrap makes (root, Linux)',
  prepare: async (run) => {
    if (process.getuid?.() !== 0) throw new Missing('only root can make a base and start a container');
    const [buildah, runc, debootstrap] = ['buildah', 'runc', 'debootstrap'].map(versionOf);
    const root = baseRoot();
    const folder = run.folder();
    const storage = ['--root', join(folder, 'store'), '--runroot', join(folder, 'state')];
    const build = (...args: string[]): string =>
      must('buildah', [...storage, '--storage-driver', 'vfs', ...args]);
    return { software: `${buildah}, ${runc}, ${debootstrap}`, cases: casesOf(run, folder, root, build) };
  },
};

interface Stated {
  readonly Docker: {
    readonly config: {
      readonly User: string;
      readonly StopSignal: string;
      readonly Healthcheck: { readonly Test: readonly string[] };
      readonly Volumes: Readonly<Record<string, unknown>>;
      readonly Entrypoint: readonly string[];
      readonly Cmd: readonly string[];
      readonly Env: readonly string[];
      readonly WorkingDir: string;
    };
  };
}

const megabytes = (path: string): number =>
  Number(must('du', ['--summarize', '--apparent-size', '--block-size=1000000', path]).split(/\s/)[0]);

function casesOf(
  run: InteropRun,
  folder: string,
  base: string,
  build: (...args: string[]) => string,
): readonly Case[] {
  let stated: Stated['Docker']['config'] | null = null;
  let root = '';
  const built = (): { readonly config: Stated['Docker']['config']; readonly root: string } => {
    if (stated === null) throw new Error('there is no image');
    return { config: stated, root };
  };
  return [
    {
      name: 'the Dockerfile builds',
      play: async () => {
        const container = build('from', 'scratch').trim();
        build('copy', '--quiet', container, base, '/');
        const path = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
        build('config', '--env', path, container);
        build('commit', '--quiet', '--rm', container, BASE);
        const packages = must('npm', ['config', 'get', 'cache']).trim();
        build(
          ...['build', '--isolation', 'chroot', '--pull=never', '--format', 'docker'],
          ...['--volume', `${packages}:/root/.npm`, '--tag', 'throughline:interop', ROOT],
        );
        const told = JSON.parse(build('inspect', '--type', 'image', 'throughline:interop')) as Stated;
        stated = told.Docker.config;
        root = build('mount', build('from', '--pull-never', 'throughline:interop').trim()).trim();
        return `${megabytes(join(root, 'app'))} MB of our own on ${megabytes(base)} MB`;
      },
    },
    {
      name: 'it states what the Dockerfile says, and the data folder is its own',
      play: async () => {
        const { config } = built();
        const final = readDockerfile(readFileSync(join(ROOT, 'Dockerfile'), 'utf8')).stages.at(-1) as Stage;
        const health = JSON.parse(
          /CMD (\[.*\])$/.exec(lastOf(final, 'HEALTHCHECK'))?.[1] ?? '[]',
        ) as string[];
        same(config.User, lastOf(final, 'USER'));
        same(config.StopSignal, lastOf(final, 'STOPSIGNAL'));
        same(config.Healthcheck.Test, ['CMD', ...health]);
        same(config.Entrypoint, JSON.parse(lastOf(final, 'ENTRYPOINT')));
        same(config.Cmd, JSON.parse(lastOf(final, 'CMD')));
        for (const [name, value] of Object.entries(pairsOf(final, 'ENV')))
          same(
            config.Env.filter((one) => one.startsWith(`${name}=`)),
            [`${name}=${value}`],
          );
        const [volume = ''] = Object.keys(config.Volumes);
        same(volume, lastOf(final, 'VOLUME'));
        const { uid, gid, mode } = statSync(join(root, volume));
        same([uid, gid, mode & 0o777], [USER, USER, 0o700]);
        return config.User;
      },
    },
    {
      name: 'it starts with a read-only root and without capabilities, is healthy, answers, and ends at SIGTERM',
      play: async () => {
        const { config } = built();
        const container = startContainer(run, folder, root, config, await freePort());
        const { url } = container;
        await until('the container serves', () =>
          /serves 1 models on /.test(container.said()) ? true : null,
        );
        same(container.exec(...config.Healthcheck.Test.slice(1)), 'ready\n');
        const models = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${KEY}` } });
        same(models.status, 200);
        same(container.exec('id', '--user').trim(), String(USER));
        const status = container.exec('cat', '/proc/1/status');
        same(/^CapEff:\s*(\w+)$/m.exec(status)?.[1], '0000000000000000');
        same(/^NoNewPrivs:\s*(\d)$/m.exec(status)?.[1], '1');
        container.exec('sh', '-c', '! touch /app/written 2>/dev/null');
        same(await container.stop(config.StopSignal), 0);
        if (!existsSync(join(container.data, 'journal'))) throw new Error('no journal in the volume');
        return '';
      },
    },
  ];
}

function same(found: unknown, wanted: unknown): void {
  if (JSON.stringify(found) !== JSON.stringify(wanted))
    throw new Error(`${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`);
}

interface Container {
  readonly url: string;
  /** The volume, as this machine sees it. */
  readonly data: string;
  said(): string;
  /** Runs a command in it. @throws Error unless it exits with 0 */
  exec(...args: string[]): string;
  /** @returns the exit code */
  stop(signal: string): Promise<number | null>;
}

/** What `docker run --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges --network host` states. */
function startContainer(
  run: InteropRun,
  folder: string,
  root: string,
  config: Stated['Docker']['config'],
  port: number,
): Container {
  const bundle = join(folder, 'bundle');
  const settings = join(folder, 'etc');
  const data = join(folder, 'data');
  for (const path of [bundle, settings, data]) mkdirSync(path);
  // The folder above is the test's alone; the container sees only what is mounted.
  chownSync(data, USER, USER);
  chmodSync(data, 0o700);
  writeFileSync(
    join(settings, 'config.yaml'),
    `model_list:
  - { model_name: a, litellm_params: { model: litellm_proxy/a, api_base: "http://127.0.0.1:1" } }
general_settings: { master_key: ${KEY} }
`,
  );
  must('runc', ['spec'], bundle);
  const path = join(bundle, 'config.json');
  const spec = JSON.parse(readFileSync(path, 'utf8')) as {
    readonly process: object;
    readonly mounts: readonly object[];
    readonly linux: { readonly namespaces: readonly { readonly type: string }[] };
  };
  const bind = (source: string, destination: string, access: 'ro' | 'rw'): object => ({
    ...{ source, destination, type: 'bind', options: ['rbind', access] },
  });
  const none = { bounding: [], effective: [], inheritable: [], permitted: [], ambient: [] };
  writeFileSync(
    path,
    JSON.stringify({
      ...spec,
      root: { path: root, readonly: true },
      process: {
        ...spec.process,
        terminal: false,
        user: { uid: USER, gid: USER },
        args: [...config.Entrypoint, ...config.Cmd],
        cwd: config.WorkingDir,
        env: [...config.Env, 'HOST=127.0.0.1', `PORT=${port}`],
        capabilities: none,
        noNewPrivileges: true,
      },
      mounts: [
        ...spec.mounts,
        { destination: '/tmp', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'nodev', 'mode=1777'] },
        bind(settings, '/etc/litellm', 'ro'),
        bind(data, '/var/lib/throughline', 'rw'),
      ],
      linux: { ...spec.linux, namespaces: spec.linux.namespaces.filter(({ type }) => type !== 'network') },
    }),
  );
  const id = `throughline-interop-${process.pid}`;
  const runc = ['--root', join(folder, 'runc')];
  const child = spawn('runc', [...runc, 'run', '--bundle', bundle, id], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'close') as Promise<[number | null]>;
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (part: Buffer) => {
      said += String(part);
    });
  run.teardown(() => spawnSync('runc', [...runc, 'delete', '--force', id]));
  return {
    url: `http://127.0.0.1:${port}`,
    data,
    said: () => {
      if (child.exitCode !== null) throw new Error(`the container ended: ${said.slice(-2000)}`);
      return said;
    },
    exec: (...args) => must('runc', [...runc, 'exec', id, ...args]),
    stop: async (signal) => {
      must('runc', [...runc, 'kill', id, signal]);
      const [code] = await ended;
      return code;
    },
  };
}
