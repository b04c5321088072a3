// What the chart renders, as tests look at it; its configuration goes through the real loader, so the chart and the server
// cannot disagree.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatIssue } from '../../config/issue.ts';
import { loadConfig, type Environment } from '../../config/load.ts';
import type { Snapshot } from '../../config/snapshot.ts';
import { at, rendered } from './helm.ts';

export const valuesFile = (name: string): string =>
  join(import.meta.dirname, '../charts/values', `${name}.yaml`);
export const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
export const named = (value: unknown, name: string): unknown =>
  list(value).find((one) => at(one, 'name') === name);

export interface Shown {
  readonly objects: ReadonlyMap<string, unknown>;
  readonly get: (kind: string) => unknown;
  readonly pod: unknown;
  readonly container: unknown;
  readonly env: ReadonlyMap<unknown, unknown>;
}

export function show(...args: readonly string[]): Shown {
  const objects = rendered(...args);
  const get = (kind: string): unknown => [...objects].find(([name]) => name.startsWith(`${kind}/`))?.[1];
  const pod = at(get('Deployment') ?? get('StatefulSet'), 'spec', 'template', 'spec');
  const container = at(pod, 'containers', 0);
  const env = new Map(list(at(container, 'env')).map((one) => [at(one, 'name'), one]));
  return { objects, get, pod, container, env };
}

/** The rendered configuration as kubelet mounts it - a folder of links through `..data` - and as the server reads it. */
export function loadRendered(t: { testdir(): string }, configMap: unknown, env: Environment): Snapshot {
  const folder = t.testdir();
  mkdirSync(join(folder, '..2026'));
  writeFileSync(join(folder, '..2026', 'config.yaml'), String(at(configMap, 'data', 'config.yaml')));
  symlinkSync('..2026', join(folder, '..data'));
  symlinkSync('..data/config.yaml', join(folder, 'config.yaml'));
  const loaded = loadConfig(join(folder, 'config.yaml'), env);
  if (!loaded.ok) throw new Error(loaded.issues.map(formatIssue).join('\n'));
  return loaded.snapshot;
}

/** What the values files of the tests refer to. */
export const ENV: Environment = {
  PROXY_MASTER_KEY: 'sk-master',
  EXTERNAL_GATEWAY_KEY: 'sk-gateway',
  SUBSCRIPTION_KEY: 'abc123',
  CUSTOM_API_BASE: 'https://bifrost.example.com:8080/v1',
  CUSTOM_API_KEY: 'sk-custom',
  CUSTOM_TIMEOUT: '120',
  FORWARD_HEADERS: 'true',
};
