// deploy/systemd: systemd itself reads the unit, where it is installed; what it names is what the program knows.
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { folder, ROOT, runWithin } from '../support/cli.ts';

const UNIT = join(ROOT, 'deploy', 'systemd', 'throughline.service');
const text = readFileSync(UNIT, 'utf8');
const valuesOf = (name: string): string[] =>
  [...text.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value);
const PROGRAM = '/opt/throughline/node_modules/.bin/throughline';
/** Without a special power it would be below 2; 10 is a service without any protection. */
const EXPOSURE = 1.5;
const NO_SYSTEMD =
  spawnSync('systemd-analyze', ['--version']).status !== 0 && 'systemd is not installed (Debian: systemd)';

t.test('systemd reads it and finds little exposed', { skip: NO_SYSTEMD }, (t) => {
  // The program where it is on this machine: systemd looks whether it can be run.
  const place = folder(t);
  const unit = join(place, 'throughline.service');
  const program = join(place, 'throughline');
  writeFileSync(program, '#!/bin/sh\n');
  chmodSync(program, 0o755);
  writeFileSync(unit, text.replaceAll(PROGRAM, program));
  const verified = spawnSync('systemd-analyze', ['verify', '--man=no', unit], { encoding: 'utf8' });
  t.equal(verified.status, 0, verified.stderr);
  t.notMatch(verified.stderr, /throughline\.service/, 'not even a warning');
  const args = ['security', '--offline=true', '--no-pager', `--threshold=${EXPOSURE * 10}`, unit];
  const security = spawnSync('systemd-analyze', args, { encoding: 'utf8' });
  t.equal(security.status, 0, security.stdout + security.stderr);
  t.end();
});

t.test('the commands exist, and time is left for running requests', async (t) => {
  for (const name of ['ExecStartPre', 'ExecStart', 'ExecReload']) {
    const [command = ''] = valuesOf(name);
    t.ok(command.startsWith(`${PROGRAM} `), name);
    const [subcommand = '', ...flags] = command.slice(PROGRAM.length + 1).split(' ');
    const { out } = await runWithin([subcommand, '--help']);
    for (const flag of flags.filter((one) => one.startsWith('--'))) t.match(out, flag);
  }
  t.ok(Number(valuesOf('TimeoutStopSec')[0]) >= 600 + 30, 'drain_seconds and the records');
  t.strictSame(valuesOf('StateDirectory'), ['throughline']);
  t.ok(valuesOf('Environment').includes('THROUGHLINE_DATA_DIR=/var/lib/throughline'));
});

t.test('the credentials are those that a configuration reads', async (t) => {
  const place = folder(t);
  const env: Record<string, string> = {};
  mkdirSync(join(place, 'credentials'));
  for (const credential of valuesOf('LoadCredential')) {
    const [name = '', file = ''] = credential.split(':');
    t.match(file, /^\/etc\/throughline\/secrets\//);
    writeFileSync(join(place, 'credentials', name), `sk-${name}\n`, { mode: 0o400 });
  }
  for (const one of valuesOf('Environment').flatMap((line) => line.split(' '))) {
    const [name = '', value = ''] = one.split('=');
    env[name] = value.replace('%d', join(place, 'credentials'));
  }
  const config = join(place, 'gateway.yaml');
  writeFileSync(
    config,
    `model_list:
  - model_name: a
    litellm_params: { model: litellm_proxy/a, api_base: "http://127.0.0.1:1", api_key: os.environ/GATEWAY_KEY }
`,
  );
  const { code, out, err } = await runWithin(['check', '--config', config], { env });
  t.equal(code, 0, out + err);
});
