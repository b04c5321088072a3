// Who is measured: the proxy as it is (or as it was), and others in the same run. A peer that cannot run says why;
// nobody's figure is taken from elsewhere.
import { existsSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { SERVING_ENV, SERVING_FLAGS } from '../../bin/serving.js';
import { freePort, Program } from './processes.ts';

/** What a peer gets to start with. */
export interface Place {
  /** Of its own: for configuration, data, logs. */
  readonly folder: string;
  readonly upstreamPort: number;
  /** Entries in `model_list`; the request asks for the last. */
  readonly models: number;
}

export interface Running {
  readonly name: string;
  readonly program: Program;
  readonly port: number;
  /** Header lines that this peer needs, each with its line end. */
  readonly headers: string;
  /** The part of a load that this one gets, because it takes milliseconds where others take microseconds. */
  readonly share?: number;
}

export interface Peer {
  readonly name: string;
  /** What this peer does not do, for the notes; null when it does all of it. */
  readonly lacks: string | null;
  /** Why it cannot run here; null when it can. */
  missing(): string | null;
  start(place: Place): Promise<Running>;
}

export const ROOT = join(import.meta.dirname, '..', '..');
export const BARE = 'bare node:http + undici relay';
export const OURS = 'throughline';
export const MODEL = 'bench';

/** The stand-in upstream. */
export async function startUpstream(mode: 'json' | 'asked'): Promise<{ program: Program; port: number }> {
  const program = new Program(process.execPath, [join(ROOT, 'bench/upstream.ts'), mode], 'ignore', true);
  return { program, port: await program.port() };
}

/** The floor: parses, changes one member, serialises. */
const bare: Peer = {
  name: BARE,
  lacks: 'keys, header policy, records, metrics and logs',
  missing: () => null,
  start: ({ upstreamPort }) => startBare(upstreamPort),
};

export async function startBare(upstreamPort: number, nodeFlags: readonly string[] = []): Promise<Running> {
  const args = [...nodeFlags, join(ROOT, 'bench/bare-relay.ts'), `http://127.0.0.1:${upstreamPort}`];
  const program = new Program(process.execPath, args, 'ignore', true);
  return { name: BARE, program, port: await program.port(), headers: '' };
}

/** The proxy of a folder, everything on: keys, header policy, journal, store, metrics, access log into a file. */
export function throughline(
  name = OURS,
  main = join(ROOT, 'proxy/main.ts'),
  nodeFlags: readonly string[] = [],
  serveFlags: readonly string[] = [],
  general: (upstreamPort: number) => string = () => '',
  params = '',
): Peer {
  return {
    name,
    lacks: null,
    missing: () => null,
    start: async ({ folder, upstreamPort, models }) => {
      const config = join(folder, 'gateway.yaml');
      const entry = (model: string): string =>
        `  - model_name: ${model}\n    litellm_params:\n      model: litellm_proxy/upstream-model\n` +
        `      api_base: http://127.0.0.1:${upstreamPort}\n      api_key: sk-upstream\n${params}`;
      const names = Array.from({ length: models - 1 }, (_, i) => `model-${i}`);
      writeFileSync(
        config,
        `model_list:\n${[...names, MODEL].map(entry).join('')}` +
          'general_settings:\n  master_key: sk-bench\n  forward_client_headers_to_llm_api: true\n' +
          general(upstreamPort),
      );
      const flags = [
        '--config',
        config,
        '--host',
        '127.0.0.1',
        '--port',
        '0',
        '--data-dir',
        join(folder, 'data'),
        ...serveFlags,
      ];
      const log = openSync(join(folder, 'access.log'), 'w');
      const env = Object.entries(SERVING_ENV).map(([key, value]) => `${key}=${value}`);
      const node = [process.execPath, ...SERVING_FLAGS, ...nodeFlags];
      const program = new Program('env', [...env, ...node, main, 'serve', ...flags], log);
      const [, port] = await program.said(/serves \d+ models on http:\/\/[\d.]+:(\d+)/);
      return { name, program, port: Number(port), headers: '' };
    },
  };
}

const nginx: Peer = {
  name: 'nginx',
  lacks: 'reading or rewriting the body, records and logs (access_log off)',
  missing: () => absent('nginx', 'nginx-light'),
  start: async ({ folder, upstreamPort }) => {
    const port = await freePort();
    const config = join(folder, 'nginx.conf');
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
    writeFileSync(
      config,
      `${process.getuid?.() === 0 ? 'user root;\n' : ''}worker_processes 1;\nworker_rlimit_nofile 20000;\npid ${folder}/nginx.pid;\nerror_log stderr error;
events { worker_connections 10000; }
http {
  access_log off;
${temporary.map((name) => `  ${name}_temp_path ${folder}/${name};`).join('\n')}
  keepalive_requests 1000000000;
  upstream gateway { server 127.0.0.1:${upstreamPort}; keepalive 512; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${port} backlog=4096;
    client_max_body_size 64m;
    client_body_buffer_size 8m;
    location / {
      proxy_pass http://gateway;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Authorization "Bearer sk-upstream";
      proxy_buffering off;
    }
  }
}\n`,
    );
    const args = ['-p', folder, '-c', config, '-e', 'stderr', '-g', 'daemon off;'];
    const program = new Program(onPath('nginx') ?? 'nginx', args);
    await program.listens(port);
    return { name: 'nginx', program, port, headers: '' };
  },
};

const haproxy: Peer = {
  name: 'haproxy',
  lacks: 'reading or rewriting the body, records and logs (no log)',
  missing: () => absent('haproxy', 'haproxy'),
  start: async ({ folder, upstreamPort }) => {
    const port = await freePort();
    const config = join(folder, 'haproxy.cfg');
    writeFileSync(
      config,
      `global
  nbthread 1
  maxconn 4000
defaults
  mode http
  option http-no-delay
  http-reuse always
  timeout connect 5s
  timeout client 60s
  timeout server 60s
frontend in
  bind 127.0.0.1:${port}
  http-request set-header authorization "Bearer sk-upstream"
  default_backend gateway
backend gateway
  server one 127.0.0.1:${upstreamPort}\n`,
    );
    const program = new Program(onPath('haproxy') ?? 'haproxy', ['-db', '-f', config]);
    await program.listens(port);
    return { name: 'haproxy', program, port, headers: '' };
  },
};

/** What moves bytes, in the order of the tables; gateways follow (gateways.ts). */
export const RELAYS: readonly Peer[] = [bare, nginx, haproxy];

/** Where a command is, or null. */
export function onPath(command: string): string | null {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin'];
  const found = folders.find((folder) => folder !== '' && existsSync(join(folder, command)));
  return found === undefined ? null : join(found, command);
}

const absent = (command: string, debian: string): string | null =>
  onPath(command) === null ? `not installed (apt-get install ${debian})` : null;

/** A folder of a peer's own inside the run's folder. */
export function folderFor(parent: string, name: string): string {
  const folder = join(parent, name.replaceAll(/[^a-z0-9.]+/gi, '-'));
  mkdirSync(folder, { recursive: true });
  return folder;
}
