// The values of LiteLLM's chart, or of the platform's chart around it: what stands in `proxy_config` is the configuration.
// Everything else belongs to the chart, and is told.
import { isMap, isScalar, type Document, type YAMLMap } from 'yaml';
import type { Path } from '../tree.ts';
import type { Level } from './finding.ts';
import type { Findings } from './findings.ts';
import { nameOf, type Origins } from './origins.ts';

interface Source {
  readonly kind: 'litellm' | 'helm-values';
  /** Where the configuration stood in the file. */
  readonly prefix: Path;
}

const CHART = 'litellm-helm';
const CONFIG = 'proxy_config';

/** What needs a person, where no chart does it. */
const BY_HAND: Readonly<Record<string, string>> = {
  masterkey: 'the master key stands in the values: set PROXY_MASTER_KEY from a secret instead',
  masterkeySecretName: 'the chart sets PROXY_MASTER_KEY from this secret; elsewhere set it yourself',
  masterkeySecretKey: 'the key within masterkeySecretName',
  environmentSecrets:
    'the variables of these secrets are read by os.environ/NAME; elsewhere set them yourself',
  environmentConfigMaps: 'the variables of these are read by os.environ/NAME; elsewhere set them yourself',
  envVars: 'set these variables, as far as os.environ/NAME names them',
  extraEnvVars: 'set these variables, as far as os.environ/NAME names them',
  db: "the proxy reads DATABASE_URL; LiteLLM's tables in that database are not read",
  redis: 'limits and budgets are shared through router_settings.redis_host or redis_url',
  numWorkers: 'start with --workers, or general_settings.workers',
};
const MIGRATION = new Set(['migrationJob']);

/** Makes `proxy_config` the document where there is one, and reports what stood around it. */
export function takeProxyConfig(document: Document, origins: Origins, findings: Findings): Source {
  const root = document.contents;
  if (!isMap(root)) return { kind: 'litellm', prefix: [] };
  const chart = mapAt(root, CHART);
  const place: [string, YAMLMap][] = [];
  if (chart !== null && has(chart, CONFIG)) place.push([CHART, chart]);
  else if (has(root, CONFIG)) place.push(['', root]);
  const [found] = place;
  if (found === undefined) return { kind: 'litellm', prefix: [] };
  const [name, values] = found;
  const prefix: Path = name === '' ? [CONFIG] : [name, CONFIG];
  if (values !== root) tellOthers(root, [], CHART, findings, origins);
  tellChart(values, prefix.slice(0, -1), findings, origins);
  const config = values.items.find((pair) => nameOf(pair) === CONFIG);
  const comment = isScalar(config?.key) ? config.key.commentBefore : null;
  if (document.commentBefore !== null && document.commentBefore !== undefined && values !== root)
    origins.lose(document.contents);
  document.contents = (config?.value ?? null) as typeof document.contents;
  if (comment !== null && comment !== undefined)
    document.commentBefore = [document.commentBefore, comment].filter(Boolean).join('\n');
  return { kind: 'helm-values', prefix };
}

function tellOthers(root: YAMLMap, path: Path, but: string, findings: Findings, origins: Origins): void {
  for (const pair of root.items) {
    const key = nameOf(pair);
    if (key === but) continue;
    findings.add(
      pair,
      [...path, key],
      'no effect here',
      'a value of the chart around the proxy; it stays there',
    );
    origins.lose(pair);
  }
}

function tellChart(values: YAMLMap, path: Path, findings: Findings, origins: Origins): void {
  for (const pair of values.items) {
    const key = nameOf(pair);
    if (key === CONFIG) continue;
    const [level, message] = verdictOn(key);
    findings.add(pair, [...path, key], level, message);
    origins.lose(pair);
  }
}

function verdictOn(key: string): readonly [Level, string] {
  if (MIGRATION.has(key))
    return ['no effect here', 'no job is needed: the proxy brings its tables up to date when it starts'];
  const byHand = Object.hasOwn(BY_HAND, key) ? BY_HAND[key] : undefined;
  if (byHand !== undefined) return ['manual', byHand];
  return ['no effect here', 'a value of the chart: charts/throughline takes the names of litellm-helm'];
}

const has = (map: YAMLMap, key: string): boolean => map.items.some((pair) => nameOf(pair) === key);

function mapAt(map: YAMLMap, key: string): YAMLMap | null {
  const value = map.items.find((pair) => nameOf(pair) === key)?.value;
  return isMap(value) ? value : null;
}
