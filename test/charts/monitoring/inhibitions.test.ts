// The inhibitions by a real Alertmanager: which alerts stay silent while another one fires, and which do not.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import t from 'tap';
import { INHIBITIONS, PREFIX } from '../../../charts/monitoring/alerts.ts';
import { freePort } from '../../support/free-port.ts';
import { beforeNextLook } from '../../support/patience.ts';
import { folderFor, startServer, withoutProgram } from '../../support/prometheus.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const RULES = readFileSync(join(ROOT, 'docs/examples/alertmanager-inhibitions.yaml'), 'utf8');
const ALERTMANAGER = 'prometheus-alertmanager';
const skip = withoutProgram(ALERTMANAGER, 'amtool');
/** Labels that inhibitions compare. */
const LABELS = { namespace: 'n', job: 'j', instance: 'i', slo: 'chain', model: 'm' };

/** Where the alerts are of that are sent last. */
const LAST = 'last';

interface Shown {
  readonly labels: Readonly<Record<string, string>>;
  readonly status: { readonly state: string };
}

t.test('the inhibitions silence what they name, and nothing of another installation', { skip }, async (t) => {
  const folder = folderFor(t);
  const path = join(folder, 'alertmanager.yml');
  writeFileSync(path, `route: { receiver: none }\nreceivers: [{ name: none }]\n${RULES}`);
  const checked = spawnSync('amtool', ['check-config', path], { encoding: 'utf8' });
  t.equal(checked.status, 0, checked.stdout + checked.stderr);

  const port = await freePort();
  await startServer(
    t,
    ALERTMANAGER,
    [
      `--config.file=${path}`,
      `--storage.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--cluster.listen-address=',
    ],
    /msg="Listening on"/,
  );
  const api = `http://127.0.0.1:${port}/api/v2/alerts`;
  const alert = (name: string, namespace: string): object => ({
    labels: { ...LABELS, namespace, alertname: PREFIX + name },
  });
  for (const { source, targets } of INHIBITIONS) {
    const inside = [source, ...targets].map((name) => alert(name, source));
    const outside = targets.map((name) => alert(name, `beside-${source}-${name}`));
    await fetch(api, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify([...inside, ...outside]),
    });
  }
  const last = INHIBITIONS.slice(0, 1).flatMap(({ source, targets }) =>
    [source, ...targets].map((name) => alert(name, LAST)),
  );
  await fetch(api, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(last),
  });
  const count = INHIBITIONS.reduce((sum, { targets }) => sum + 1 + 2 * targets.length, last.length);
  let all: Shown[] = [];
  for (;;) {
    all = (await (await fetch(api)).json()) as Shown[];
    // What inhibits is read in a task of its own, in the order in which it came: the last source says that all are known.
    const isKnown = all.some(
      ({ labels, status }) => labels['namespace'] === LAST && status.state === 'suppressed',
    );
    if (isKnown && all.length === count && all.every(({ status }) => status.state !== 'unprocessed')) break;
    await beforeNextLook();
  }
  const stateOf = (name: string, namespace: string): string | undefined =>
    all.find(({ labels }) => labels['alertname'] === PREFIX + name && labels['namespace'] === namespace)
      ?.status.state;
  for (const { source, targets } of INHIBITIONS) {
    t.equal(stateOf(source, source), 'active', source);
    for (const name of targets) {
      t.equal(stateOf(name, source), 'suppressed', `${source} silences ${name}`);
      t.equal(stateOf(name, `beside-${source}-${name}`), 'active', `${name} of another installation`);
    }
  }
});
