// Where and with what the figures were taken: without it a figure says nothing.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem } from 'node:os';
import { join } from 'node:path';
import { ROOT } from './peers.ts';

/** Of a command that is there; the empty text else. */
function said(command: string, args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: ROOT, encoding: 'utf8' });
  return status === 0 ? `${stdout}${stderr}`.trim() : '';
}

/** One line: date, machine, kernel, versions. */
export function describeRun(): string {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  const changed = said('git', ['status', '--porcelain', '--', 'proxy', 'config']) !== '';
  const revision = said('git', ['rev-parse', '--short', 'HEAD']);
  const cores = cpus();
  const nginx = /nginx\/(\S+)/.exec(said('/usr/sbin/nginx', ['-v']))?.[1];
  const haproxy = /version (\d[\d.]*)/i.exec(said('/usr/sbin/haproxy', ['-v']))?.[1];
  return [
    new Date().toISOString().slice(0, 10),
    `${cores.length} cores of ${cores[0]?.model.trim() ?? 'an unknown CPU'}`,
    `${Math.round(totalmem() / 2 ** 30)} GB`,
    `Linux ${release()}`,
    `Node ${process.versions.node}`,
    `throughline ${version}${revision === '' ? '' : ` (${revision}${changed ? ' and changes' : ''})`}`,
    ...(nginx === undefined ? [] : [`nginx ${nginx}`]),
    ...(haproxy === undefined ? [] : [`HAProxy ${haproxy}`]),
    `load average at the start ${loadavg()[0]?.toFixed(1) ?? '?'}`,
  ].join(', ');
}
