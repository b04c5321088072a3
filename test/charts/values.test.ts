// What the chart takes: every configuration that the server takes, values that a parent chart hands down, and nothing
// that cannot work. Judged by real helm, before anything would be installed.
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import t from 'tap';
import { parse } from 'yaml';
import { CHART, helm, NO_HELM } from '../support/helm.ts';

const ROOT = resolve(import.meta.dirname, '../..');

t.test('every sample configuration is a valid proxy_config', { skip: NO_HELM }, (t) => {
  for (const sample of ['quickstart', 'per-team-keys', 'wildcard', 'full', 'plain-litellm', 'platform']) {
    const folder = t.testdir();
    const config: unknown = parse(readFileSync(join(ROOT, 'config/samples', `${sample}.yaml`), 'utf8'), {
      merge: true,
    });
    writeFileSync(join(folder, 'values.yaml'), JSON.stringify({ proxy_config: config }));
    const run = helm('template', CHART, '--kube-version', '1.31.0', '-f', join(folder, 'values.yaml'));
    t.ok(run.ok, `${sample} ${run.err}`);
  }
  t.end();
});

t.test('images that waited for the database in LiteLLM are taken without effect', { skip: NO_HELM }, (t) => {
  const render = (...set: string[]): string => {
    const run = helm('template', 'a', CHART, '--kube-version', '1.31.0', ...set);
    t.ok(run.ok, run.err);
    return run.out;
  };
  const images = 'image.dbReadyImage=docker.io/bitnami/postgresql,image.dbReadyTag=16.1.0';
  t.equal(render('--set', `${images},masterkey=sk-m`), render('--set', 'masterkey=sk-m'));
  t.end();
});

t.test('values that cannot work are refused before anything is installed', { skip: NO_HELM }, (t) => {
  const general = 'proxy_config.general_settings';
  const first = 'proxy_config.model_list[0]';
  // Helm tells the faults of all values at once; so does each run here.
  const runs: readonly (readonly (readonly [set: string, says: RegExp])[])[] = [
    [
      ['replicaCout=2', /'?replicaCout'? (is )?not allowed/],
      ['image.tagg=1', /image\b.* '?tagg'? (is )?not allowed/],
      ['image.digest=sha256:abc', /image[./]digest'?: .*does not match pattern/i],
      ['service.port=http', /service[./]port'?: (Invalid type|got string)/],
      ['logLevel=loud', /logLevel/],
      ['workers=many', /workers/],
      ['pdb.minAvailable=most', /pdb[./]minAvailable'?: .*does not match pattern/i],
      ['prometheusRule.alerts.A.fro=5m', /'?fro'? (is )?not allowed/],
      [
        'terminationGracePeriodSeconds=5',
        /terminationGracePeriodSeconds'?: (Must be greater than or equal to|minimum: got 5, want) 30/,
      ],
      ['proxy_config.general_setting.master_key=a', /proxy_config\b.* '?general_setting'? (is )?not allowed/],
      [`${first}.litellm_params.api_bas=b`, /model_list\b.* '?api_bas'? (is )?not allowed/],
      [`${first}.litellm_params.timeout=soon`, /timeout'?: .*does not match pattern/i],
      [
        'proxy_config.model_list[1].model_name=a',
        /litellm_params is required|missing property 'litellm_params'/,
      ],
      [`${general}.store_model_in_db=maybe`, /store_model_in_db'?: .*does not match pattern/i],
      [`${general}.journal.when_unwritable=panic`, /when_unwritable'?: .*does not match pattern/i],
      [
        `${general}.max_json_depth=0`,
        /max_json_depth'?: (Must be greater than or equal to|minimum: got 0, want) 1/,
      ],
      ['models.a.litellm_params.api_bass=b', /models\b.* '?api_bass'? (is )?not allowed/],
    ],
    [['workers=0', /workers/]],
  ];
  for (const faults of runs) {
    const sets = faults.flatMap(([set]) => ['--set', set]);
    const { ok, err } = helm('template', CHART, '--kube-version', '1.31.0', ...sets);
    t.notOk(ok);
    for (const [set, says] of faults) t.match(err, says, set);
  }
  t.end();
});

t.test('unknown_keys: warn holds for the values as for the server', { skip: NO_HELM }, (t) => {
  const run = (proxy_config: object) => {
    const file = join(t.testdir(), 'values.yaml');
    writeFileSync(file, JSON.stringify({ proxy_config }));
    return helm('template', CHART, '--kube-version', '1.31.0', '-f', file);
  };
  const config = (unknown_keys: string): object => ({
    model_list: [
      {
        model_name: 'a',
        new_member: 1,
        litellm_params: { model: 'openrouter/a', api_key: 'os.environ/KEY', api_type: 'openai' },
      },
    ],
    litellm_settings: { default_model: 'a' },
    router_settings: { new_setting: 1 },
    general_settings: { unknown_keys, new_setting: 1 },
    new_section: {},
  });
  const warned = run(config('warn'));
  t.ok(warned.ok, warned.err);
  t.match(warned.out, /default_model: a/);
  const refused = run(config('refuse'));
  t.notOk(refused.ok);
  for (const name of ['new_member', 'api_type', 'default_model', 'new_setting', 'new_section'])
    t.match(refused.err, new RegExp(`'?${name}'? (is )?not allowed`), name);
  const own = run({
    general_settings: { unknown_keys: 'warn', journal: { when: 'x' } },
    budgets: [{ naem: 'x' }],
  });
  t.match(own.err, /'?when'? (is )?not allowed/, 'what LiteLLM has not stays strict');
  t.match(own.err, /'?naem'? (is )?not allowed/);
  t.end();
});

t.test('the chart works as a dependency under the name of the one it replaces', { skip: NO_HELM }, (t) => {
  const folder = t.testdir({
    'Chart.yaml': 'apiVersion: v2\nname: openhands\nversion: 1.0.0\n',
    'values.yaml': 'global: { a: b }\nlitellm-helm: { enabled: true, replicaCount: 2 }\n',
    charts: {},
  });
  const dependency = `dependencies:\n  - { name: throughline, alias: litellm-helm, version: 0.1.0, repository: "file://${CHART}", condition: litellm-helm.enabled }\n`;
  writeFileSync(join(folder, 'Chart.yaml'), `apiVersion: v2\nname: openhands\nversion: 1.0.0\n${dependency}`);
  const packed = helm('package', CHART, '-d', join(folder, 'charts'));
  t.ok(packed.ok, packed.err);
  const { ok, out, err } = helm('template', 'openhands', folder, '--kube-version', '1.31.0');
  t.ok(ok, err);
  t.match(out, /kind: Deployment\nmetadata:\n {2}name: openhands-litellm\n/);
  t.end();
});
