// Settings of the kubernetes driver: what they become, and what a cluster cannot do is refused with its place.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { loadConfig } from '../../../config/load.ts';
import type { Snapshot } from '../../../config/snapshot.ts';

function load(t: Test, sandbox: string, spec: string): Snapshot | readonly string[] {
  const path = join(t.testdir(), 'gateway.yaml');
  writeFileSync(
    path,
    `model_list: []
platform:
  session_api_key: k
  secret_key: ${Buffer.alloc(32, 7).toString('base64')}
  sandbox: { driver: kubernetes, ${sandbox} }
  sandbox_specs: [${spec}]
`,
  );
  const loaded = loadConfig(path, { TOKEN: 'of-the-cluster' });
  return loaded.ok ? loaded.snapshot : loaded.issues.map((issue) => JSON.stringify(issue));
}

t.test('in a pod of the cluster nothing needs to be set', (t) => {
  const loaded = load(t, '', '{ id: a, image: a }') as Snapshot;
  t.match(loaded.platform, {
    kubernetes: {
      apiServer: null,
      token: null,
      tokenFile: '/var/run/secrets/kubernetes.io/serviceaccount/token',
      caFile: null,
      namespace: null,
      volume: 'claim',
      volumeGb: 10,
      runAsUser: 10001,
    },
    sandboxSpecs: [{ limits: { memoryMb: 4096, cpus: 2 } }],
  });
  t.end();
});

t.test('a cluster elsewhere is named, its token referred to', (t) => {
  const cluster =
    'kubernetes: { api_server: "https://10.0.0.1:6443", token: os.environ/TOKEN, namespace: agents }';
  const { platform } = load(t, cluster, '{ id: a, image: a }') as Snapshot;
  t.match(platform?.kubernetes, { apiServer: 'https://10.0.0.1:6443/', namespace: 'agents' });
  t.equal(platform?.kubernetes?.token?.reveal(), 'of-the-cluster');
  t.end();
});

t.test('what a cluster cannot do is refused', (t) => {
  const spec = '{ id: a, image: a }';
  for (const [sandbox, own, words] of [
    ['', '{ id: a }', 'the kubernetes driver needs an image to run'],
    ['', '{ id: a., image: a }', 'cannot be the value of a label'],
    ['', '{ id: a, image: a, limits: { processes: 9 } }', 'podPidsLimit'],
    ['', '{ id: a, image: a, limits: { open_files: 99 } }', 'has no effect with the kubernetes driver'],
    ['', '{ id: a, image: a, limits: { cpu_seconds: 9 } }', 'has no effect with the kubernetes driver'],
    ['kubernetes: { volume: empty_dir }', spec, 'set idle_pause_seconds: 0, or volume: claim'],
    ['kubernetes: { api_server: "http://10.0.0.1" }', spec, 'begins with https://'],
    ['kubernetes: { api_server: "https://u:p@10.0.0.1" }', spec, 'without credentials'],
    ['kubernetes: { namespace: Agents }', spec, 'a namespace: lower-case letters'],
    ['kubernetes: { volume_size: 3 }', spec, 'volume_size'],
  ] as const) {
    const issues = load(t, sandbox, own);
    t.ok(Array.isArray(issues), `${sandbox} ${own}`);
    t.match(String(issues), words);
  }
  t.ok(!Array.isArray(load(t, 'kubernetes: { api_server: "http://127.0.0.1:8001" }', spec)), 'kubectl proxy');
  t.end();
});
