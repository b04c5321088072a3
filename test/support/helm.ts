// Finds helm for tests and runs it on the chart. Never fetches anything: bin/tools.js does, before the tests.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { WITHOUT_COLLECTIONS } from './go-programs.ts';

const ROOT = resolve(import.meta.dirname, '../..');
export const CHART = join(ROOT, 'charts/throughline');

/** Path of a helm binary: HELM_BIN, on PATH, or fetched; null when there is none. */
export const HELM: string | null = find();

/** For tap's `skip`: false, or why tests that need helm are left out. */
export const NO_HELM: string | false =
  HELM === null ? 'no helm: node bin/tools.js fetches it on Linux x64, or set HELM_BIN' : false;

function find(): string | null {
  const { HELM_BIN, PATH = '' } = process.env;
  if (HELM_BIN !== undefined && HELM_BIN !== '') return HELM_BIN;
  const folders = [...PATH.split(delimiter), join(import.meta.dirname, 'tools/node_modules/.bin')];
  return folders.map((folder) => join(folder, 'helm')).find((path) => existsSync(path)) ?? null;
}

/** `v3.6.2`; empty when there is none. */
export const helmVersion = (): string =>
  HELM === null ? '' : (/v\d+\.\d+(\.\d+)?/.exec(helm('version', '--short').out)?.[0] ?? '');

export interface HelmRun {
  readonly ok: boolean;
  readonly out: string;
  readonly err: string;
}

/** Runs helm. The Kubernetes configuration of the machine is kept out of it. */
export function helm(...args: readonly string[]): HelmRun {
  const env = { ...process.env, ...WITHOUT_COLLECTIONS, KUBECONFIG: join(CHART, 'no-kubeconfig') };
  const { status, stdout, stderr } = spawnSync(HELM ?? 'helm', args, { encoding: 'utf8', env });
  return { ok: status === 0, out: stdout, err: stderr };
}

/** A member of a rendered object by path; undefined where the path leads nowhere. */
export function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  let here = value;
  for (const step of path) {
    if (typeof here !== 'object' || here === null) return undefined;
    here = Object.getOwnPropertyDescriptor(here, step)?.value;
  }
  return here;
}

/** The chart rendered as release `openhands` in namespace `oh`, one object per `Kind/name`. */
export function rendered(...args: readonly string[]): ReadonlyMap<string, unknown> {
  const run = helm(
    'template',
    'openhands',
    CHART,
    '-n',
    'oh',
    ...(args.includes('--kube-version') ? [] : ['--kube-version', '1.31.0']),
    ...args,
  );
  if (!run.ok) throw new Error(run.err);
  return objectsOf(run.out);
}

/** The objects of a rendered text, one per `Kind/name`. */
export function objectsOf(text: string): ReadonlyMap<string, unknown> {
  const objects = new Map<string, unknown>();
  for (const document of parseAllDocuments(text)) {
    if ('errors' in document && document.errors.length > 0) throw new Error(String(document.errors[0]));
    const object: unknown = document.toJS();
    if (object === null) continue;
    const name = `${String(at(object, 'kind'))}/${String(at(object, 'metadata', 'name'))}`;
    if (objects.has(name)) throw new Error(`${name} is rendered twice`);
    objects.set(name, object);
  }
  return objects;
}
