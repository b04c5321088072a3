// The `kubernetes` part of `platform.sandbox` -> KubernetesSettings, and what a spec cannot ask of a cluster. Pure; files and
// the environment of a pod are read by the driver.
import type { Diagnostics } from '../diagnostics.ts';
import type { PlatformSection, SandboxSpecEntry } from '../gateway-file.ts';
import type { KubernetesSettings } from '../snapshot.ts';
import type { Path } from '../tree.ts';
import { keyAt } from './address.ts';

/** https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set */
const LABEL_VALUE = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;

/** What no field of a pod can bound: it is the node's business, or nobody's. */
const NOT_OF_A_POD: readonly (readonly [limit: keyof SandboxSpecEntry['limits'], instead: string])[] = [
  ['processes', 'the kubelet of the nodes bounds them (podPidsLimit); remove it'],
  ['open_files', 'the container runtime of the nodes bounds them; remove it'],
  ['cpu_seconds', 'bound processors with cpus; remove it'],
];

export function kubernetesOf({ sandbox }: PlatformSection, diagnostics: Diagnostics): KubernetesSettings {
  const path = ['platform', 'sandbox', 'kubernetes'];
  const { kubernetes } = sandbox;
  if (kubernetes.volume === 'empty_dir' && sandbox.idle_pause_seconds !== 0)
    diagnostics.error(
      [...path, 'volume'],
      'empty_dir ends with its pod, so that a sandbox cannot be paused when it is idle',
      'set idle_pause_seconds: 0, or volume: claim',
    );
  return {
    apiServer: apiServerOf(kubernetes.api_server, [...path, 'api_server'], diagnostics),
    token: keyAt(kubernetes.token, [...path, 'token'], diagnostics, 'the token'),
    tokenFile: kubernetes.token_file,
    caFile: kubernetes.ca_file ?? null,
    namespace: kubernetes.namespace ?? null,
    volume: kubernetes.volume,
    volumeGb: kubernetes.volume_gb,
    storageClass: kubernetes.storage_class ?? null,
    diskGb: kubernetes.disk_gb,
    requestMemoryMb: kubernetes.request_memory_mb,
    requestCpus: kubernetes.request_cpus,
    runAsUser: kubernetes.run_as_user,
    imagePullSecrets: kubernetes.image_pull_secrets,
    runtimeClass: kubernetes.runtime_class ?? null,
    nodeSelector: kubernetes.node_selector,
    tolerations: kubernetes.tolerations,
  };
}

/** Reports what would be dropped in silence, or refused by the API server at each start. */
export function checkKubernetesSpec(spec: SandboxSpecEntry, path: Path, diagnostics: Diagnostics): void {
  if (!LABEL_VALUE.test(spec.id))
    diagnostics.error(
      [...path, 'id'],
      'cannot be the value of a label in Kubernetes',
      'begin and end it with a letter or digit, at most 63 characters',
    );
  for (const [limit, instead] of NOT_OF_A_POD)
    if (spec.limits[limit] !== undefined)
      diagnostics.error([...path, 'limits', limit], 'has no effect with the kubernetes driver', instead);
}

function apiServerOf(text: string | undefined, path: Path, diagnostics: Diagnostics): string | null {
  if (text === undefined) return null;
  const url = URL.parse(text);
  const isPlain =
    url !== null && url.search === '' && url.hash === '' && url.username === '' && url.password === '';
  const isLoopback = url !== null && /^(localhost|127\.[0-9.]+|\[::1\])$/.test(url.hostname);
  if (isPlain && (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback))) return url.href;
  diagnostics.error(
    path,
    'must be a URL that begins with https://, without credentials, query and fragment',
    'for example api_server: https://10.0.0.1:6443; http:// is taken for this machine alone (kubectl proxy)',
  );
  return null;
}
