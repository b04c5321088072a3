// Files that are no configuration, and hold one at most: an object of Kubernetes, the values of a chart. One sentence says what
// they are, where a list of their unknown keys would say nothing. Pure.
import { shownName } from './shown.ts';
import { memberOf, type Tree } from './tree.ts';

/** One of them at the top level makes a file a configuration; its models may be left to the database. */
export const SECTIONS: ReadonlySet<string> = new Set([
  'model_list',
  'general_settings',
  'litellm_settings',
  'router_settings',
  'credential_list',
]);

/** Top-level keys of the chart that starts LiteLLM, and of the platform's chart around it. */
const LITELLM_CHART = ['litellm-helm', 'proxy_config', 'masterkeySecretName', 'environmentSecrets'];
/** Those of any chart; a single one may stand in a configuration by mistake. */
const ANY_CHART = [
  'affinity',
  'autoscaling',
  'fullnameOverride',
  'image',
  'imagePullSecrets',
  'ingress',
  'nameOverride',
  'nodeSelector',
  'podAnnotations',
  'podLabels',
  'podSecurityContext',
  'replicaCount',
  'resources',
  'securityContext',
  'serviceAccount',
  'tolerations',
];
const FEWEST = 2;

/** What the file is, and what to do; null = it may be a configuration. */
export function foreignFile(root: Tree): readonly [message: string, fix: string] | null {
  if (root.kind !== 'map' || [...SECTIONS].some((key) => root.members.has(key))) return null;
  const kind = memberOf(root, 'kind');
  if (root.members.has('apiVersion') && kind?.kind === 'scalar' && typeof kind.value === 'string')
    return [
      `this is an object of Kubernetes (${shownName(kind.value)}), no configuration`,
      'save the part that begins with model_list as a file of its own; `throughline import litellm` says where one stands in this',
    ];
  const values = 'these are the values of a Helm chart, no configuration';
  if (LITELLM_CHART.some((key) => root.members.has(key)))
    return [values, '`throughline import litellm` reads them'];
  if (ANY_CHART.filter((key) => root.members.has(key)).length < FEWEST) return null;
  return [
    values,
    'name the file with model_list; values with proxy_config are read by `throughline import litellm`',
  ];
}
