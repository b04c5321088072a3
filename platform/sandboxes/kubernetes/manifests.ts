// The objects of one sandbox in a cluster. Pure. The Service comes first: it names the sandbox to the next server and owns
// the others, so that Kubernetes' garbage collector takes them along should a removal stop half-way.
import type { KubernetesSettings, SandboxSpec } from '../../../config/snapshot.ts';
import { filled, type SandboxPlan } from '../driver.ts';

export const ID_LABEL = 'throughline.sandbox.id';
export const HOME_LABEL = 'throughline.sandbox.home';
const SPEC_LABEL = 'throughline.sandbox.spec';
/** The folder of a sandbox inside its container, on its volume. */
const SANDBOX_DIR = '/sandbox';
const GRACE_SECONDS = 10;

/** Object names are lower-case; two ids of 128 random bits that differ in case alone do not happen. */
export const nameOf = (id: string): string => `throughline-sandbox-${id.toLowerCase()}`;

export interface Owner {
  readonly name: string;
  readonly uid: string;
}

interface Manifests {
  readonly workingDir: string;
  readonly service: unknown;
  /** The others, by the path of their kind, in the order in which they are made; the pod is made of the template. */
  readonly owned: (owner: Owner) => readonly (readonly [kind: string, body: unknown])[];
}

interface Options {
  readonly plan: SandboxPlan;
  /** Label value of the server that owns it. */
  readonly home: string;
  readonly settings: KubernetesSettings;
  readonly startTimeoutMs: number;
}

export function manifestsOf({ plan, home, settings, startTimeoutMs }: Options): Manifests {
  const { id, spec, env } = plan;
  const name = nameOf(id);
  const values = { port: String(spec.port), sandbox_dir: SANDBOX_DIR, sandbox_id: id };
  const workingDir = filled(spec.workingDir, values);
  const labels = {
    'app.kubernetes.io/managed-by': 'throughline',
    'app.kubernetes.io/component': 'sandbox',
    [ID_LABEL]: id,
    [HOME_LABEL]: home,
    [SPEC_LABEL]: spec.id,
  };
  const variables = new Map(
    [...spec.initialEnv, ...env].map(([key, value]) => [key, filled(value.reveal(), values)]),
  );
  const pod = podSpec({
    name,
    spec,
    settings,
    values,
    workingDir,
    variables: [...variables.keys()],
    startTimeoutMs,
  });
  return {
    workingDir,
    service: {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, labels },
      spec: {
        type: 'ClusterIP',
        selector: { [ID_LABEL]: id },
        ports: [{ name: 'http', port: spec.port, targetPort: spec.port, protocol: 'TCP' }],
      },
    },
    owned: (owner) => {
      const metadata = {
        name,
        labels,
        ownerReferences: [{ apiVersion: 'v1', kind: 'Service', name: owner.name, uid: owner.uid }],
      };
      const template = { metadata: { labels, ownerReferences: metadata.ownerReferences }, spec: pod };
      return [
        ['secrets', secretOf(metadata, variables)],
        ...(settings.volume === 'claim'
          ? [['persistentvolumeclaims', claimOf(metadata, settings)] as const]
          : []),
        ['podtemplates', { apiVersion: 'v1', kind: 'PodTemplate', metadata, template }],
      ];
    },
  };
}

const secretOf = (metadata: unknown, variables: ReadonlyMap<string, string>): unknown => ({
  apiVersion: 'v1',
  kind: 'Secret',
  type: 'Opaque',
  immutable: true,
  metadata,
  stringData: Object.fromEntries(variables),
});

const claimOf = (metadata: unknown, { volumeGb, storageClass }: KubernetesSettings): unknown => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata,
  spec: {
    accessModes: ['ReadWriteOnce'],
    ...(storageClass === null ? {} : { storageClassName: storageClass }),
    resources: { requests: { storage: `${volumeGb}Gi` } },
  },
});

interface PodOptions {
  readonly name: string;
  readonly spec: SandboxSpec;
  readonly settings: KubernetesSettings;
  readonly values: Readonly<Record<string, string>>;
  readonly workingDir: string;
  readonly variables: readonly string[];
  readonly startTimeoutMs: number;
}

function podSpec({
  name,
  spec,
  settings,
  values,
  workingDir,
  variables,
  startTimeoutMs,
}: PodOptions): unknown {
  const { runAsUser: user, imagePullSecrets, nodeSelector, tolerations, runtimeClass } = settings;
  return {
    restartPolicy: 'Never', // what it held in memory is gone: an agent server that began anew would pass for the old one
    terminationGracePeriodSeconds: GRACE_SECONDS,
    automountServiceAccountToken: false,
    enableServiceLinks: false, // else the addresses of all Services of the namespace stand in its environment
    shareProcessNamespace: true, // process 1 is then one that collects the ended children of an agent's commands
    securityContext: {
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
      ...(user === 0
        ? {}
        : { runAsUser: user, runAsGroup: user, fsGroup: user, fsGroupChangePolicy: 'OnRootMismatch' }),
    },
    ...(runtimeClass === null ? {} : { runtimeClassName: runtimeClass }),
    ...(imagePullSecrets.length === 0
      ? {}
      : { imagePullSecrets: imagePullSecrets.map((secret) => ({ name: secret })) }),
    ...(Object.keys(nodeSelector).length === 0 ? {} : { nodeSelector }),
    ...(tolerations.length === 0 ? {} : { tolerations }),
    volumes: [volumeOf(name, settings)],
    containers: [
      {
        name: 'sandbox',
        image: spec.image,
        ...(spec.command.length === 0
          ? {}
          : { args: spec.command.map((part) => literal(filled(part, values))) }),
        workingDir,
        env: variables.map((key) => ({ name: key, valueFrom: { secretKeyRef: { name, key } } })),
        ports: [{ name: 'http', containerPort: spec.port, protocol: 'TCP' }],
        resources: resourcesOf(spec.limits, settings),
        volumeMounts: mountsOf(workingDir),
        // Until it has answered once. Nothing asks after that: a slow answer must not take it out of its Service.
        startupProbe: {
          httpGet: { path: spec.healthPath, port: spec.port },
          periodSeconds: 1,
          timeoutSeconds: 5,
          failureThreshold: Math.max(1, Math.ceil(startTimeoutMs / 1000)),
        },
        securityContext: {
          allowPrivilegeEscalation: false,
          privileged: false,
          capabilities: { drop: ['ALL'] },
        },
      },
    ],
  };
}

const volumeOf = (name: string, { volume, volumeGb }: KubernetesSettings): unknown =>
  volume === 'claim'
    ? { name: 'sandbox', persistentVolumeClaim: { claimName: name } }
    : { name: 'sandbox', emptyDir: { sizeLimit: `${volumeGb}Gi` } };

/** A working folder that is not there would be made by root and could not be written; kubelet makes that of a subPath well. */
function mountsOf(workingDir: string): readonly unknown[] {
  const whole = { name: 'sandbox', mountPath: SANDBOX_DIR };
  const inside = workingDir.startsWith(`${SANDBOX_DIR}/`) ? workingDir.slice(SANDBOX_DIR.length + 1) : '';
  const subPath = inside.replace(/\/+$/, '');
  return subPath === ''
    ? [whole]
    : [whole, { name: 'sandbox', mountPath: `${SANDBOX_DIR}/${subPath}`, subPath }];
}

function resourcesOf(limits: SandboxSpec['limits'], settings: KubernetesSettings): unknown {
  const { memoryMb, cpus } = limits;
  const { requestMemoryMb, requestCpus, diskGb } = settings;
  return {
    limits: {
      ...(memoryMb === null ? {} : { memory: `${memoryMb}Mi` }),
      ...(cpus === null ? {} : { cpu: milli(cpus) }),
      'ephemeral-storage': `${diskGb}Gi`,
    },
    requests: {
      memory: `${Math.min(requestMemoryMb, memoryMb ?? Infinity)}Mi`,
      cpu: milli(Math.min(requestCpus, cpus ?? Infinity)),
      'ephemeral-storage': '256Mi',
    },
  };
}

const milli = (cpus: number): string => `${Math.max(1, Math.round(cpus * 1000))}m`;

/** Kubernetes replaces `$(NAME)` in arguments by values of the environment; `$$` is a dollar sign. */
const literal = (text: string): string => text.replaceAll('$(', () => '$$(');
