// A Kubernetes API server for tests: a real kube-apiserver on a real etcd where KUBE_APISERVER and ETCD name their programs
// (test/interop/kubernetes/build.sh makes them), else a stand-in that checks objects by the OpenAPI schema of the real one.
// Says which. Runs no controllers and no nodes.
import { spawn, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync, readFileSync } from 'node:fs';
import { request as plain, type IncomingMessage } from 'node:http';
import { request as secure } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { freePort } from './free-port.ts';
import { RUN, RUN_MARK, type Teardown } from './process-cleanup.ts';
import { startStandIn } from './kubernetes-stand-in.ts';

export interface Reply {
  readonly status: number;
  readonly body: unknown;
}

export interface TestCluster {
  /** `kube-apiserver v1.34.2`, `stand-in`. */
  readonly name: string;
  readonly real: boolean;
  readonly url: string;
  /** null = plain HTTP. */
  readonly caFile: string | null;
  /** Of an administrator. */
  readonly token: string;
  /** As an administrator. @param path from `/api` on */
  call(method: string, path: string, body?: unknown, type?: string): Promise<Reply>;
  /** Lines of a watch, until the signal. */
  watch(path: string, signal: AbortSignal): AsyncGenerator;
  /** Breaks all connections and takes none any more. */
  stop(): Promise<void>;
}

const ADMIN = 'token-of-the-administrator';

export async function startCluster(t: Teardown & { comment(text: string): unknown }): Promise<TestCluster> {
  const { KUBE_APISERVER: server = '', ETCD: etcd = '' } = process.env;
  const cluster = server === '' || etcd === '' ? await standIn(t) : await realCluster(t, server, etcd);
  t.comment(`Kubernetes tests run on ${cluster.name}`);
  return cluster;
}

async function standIn(t: Teardown): Promise<TestCluster> {
  const server = await startStandIn(ADMIN);
  t.teardown(() => server.close());
  return {
    name: 'a stand-in of the API server',
    real: false,
    ...client(server.url, null),
    stop: () => server.close(),
  };
}

async function realCluster(t: Teardown, server: string, etcd: string): Promise<TestCluster> {
  const folder = mkdtempSync(join(tmpdir(), 'cluster-'));
  const [store, peer, port] = [await freePort(), await freePort(), await freePort()];
  const key = join(folder, 'account.key');
  execFileSync('openssl', ['genrsa', '-out', key, '2048'], { stdio: 'pipe' });
  writeFileSync(join(folder, 'tokens.csv'), `${ADMIN},admin,1,"system:masters"\n`);
  const run = (program: string, args: readonly string[]): (() => Promise<void>) => {
    const env = { PATH: process.env['PATH'], HOME: folder, [RUN_MARK]: RUN };
    const child = spawn(program, args, { env, cwd: folder, stdio: ['ignore', 'ignore', 'ignore'] });
    const over = once(child, 'exit');
    return async () => {
      child.kill('SIGKILL');
      await over;
    };
  };
  const etcdUrl = `http://127.0.0.1:${store}`;
  const peerUrl = `http://127.0.0.1:${peer}`;
  const stopStore = run(etcd, [
    `--data-dir=${folder}/etcd`,
    `--listen-client-urls=${etcdUrl}`,
    `--advertise-client-urls=${etcdUrl}`,
    `--listen-peer-urls=${peerUrl}`,
    `--initial-advertise-peer-urls=${peerUrl}`,
    `--initial-cluster=default=${peerUrl}`,
    '--unsafe-no-fsync',
  ]);
  const third = 1 + Math.floor(Math.random() * 254);
  const stopServer = run(server, [
    `--etcd-servers=${etcdUrl}`,
    `--cert-dir=${folder}/certificates`,
    '--bind-address=127.0.0.1',
    '--advertise-address=192.0.2.1',
    `--secure-port=${port}`,
    `--token-auth-file=${folder}/tokens.csv`,
    '--authorization-mode=RBAC',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-signing-key-file=${key}`,
    `--service-account-key-file=${key}`,
    `--service-cluster-ip-range=127.96.${third}.0/24`,
    '--endpoint-reconciler-type=none',
  ]);
  const stop = async (): Promise<void> => {
    await stopServer();
    await stopStore();
  };
  t.teardown(async () => {
    await stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const url = `https://127.0.0.1:${port}`;
  const caFile = `${folder}/certificates/apiserver.crt`;
  const calls = client(url, caFile);
  for (;;) {
    const ready = await calls.call('GET', '/readyz').catch(() => null);
    if (ready?.status === 200) break;
    await wait(100);
  }
  const version = (await calls.call('GET', '/version')).body as { readonly gitVersion: string };
  return { name: `kube-apiserver ${version.gitVersion}`, real: true, ...calls, stop };
}

function client(
  url: string,
  caFile: string | null,
): Pick<TestCluster, 'url' | 'caFile' | 'token' | 'call' | 'watch'> {
  const open = (
    method: string,
    path: string,
    body: unknown,
    type: string,
    signal?: AbortSignal,
  ): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const payload = body === undefined ? null : Buffer.from(JSON.stringify(body));
      const framed = payload === null ? {} : { 'content-type': type, 'content-length': payload.length };
      const headers = { authorization: `Bearer ${ADMIN}`, ...framed };
      const options = { method, headers, agent: false as const, ...(signal === undefined ? {} : { signal }) };
      const req =
        caFile === null
          ? plain(`${url}${path}`, options)
          : secure(`${url}${path}`, { ...options, ca: readFileSync(caFile) });
      req.on('error', reject).on('response', resolve);
      req.end(payload ?? undefined);
    });
  return {
    url,
    caFile,
    token: ADMIN,
    call: async (method, path, body, type = 'application/json') => {
      const res = await open(method, path, body, type);
      const chunks: Buffer[] = [];
      for await (const chunk of res) chunks.push(chunk as Buffer);
      const text = Buffer.concat(chunks).toString();
      return {
        status: res.statusCode ?? 0,
        body: text.startsWith('{') ? (JSON.parse(text) as unknown) : text,
      };
    },
    watch: async function* (path, signal) {
      const res = await open('GET', path, undefined, '', signal);
      let rest = '';
      for await (const chunk of res) {
        const lines = `${rest}${String(chunk)}`.split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) yield JSON.parse(line) as unknown;
      }
    },
  };
}
