// Types of the `platform` section once it is resolved; part of the Snapshot.
import type { Secret } from './secret.ts';

/** What a sandbox of one kind runs. Strings may contain `{port}`, `{sandbox_dir}`, `{sandbox_id}`. */
export interface SandboxSpec {
  readonly id: string;
  readonly command: readonly string[];
  readonly image: string | null;
  /** Port inside a container. */
  readonly port: number;
  readonly workingDir: string;
  /** What the command can read beside programs and its own folder, under bubblewrap. */
  readonly readablePaths: readonly string[];
  readonly initialEnv: readonly (readonly [name: string, value: Secret])[];
  readonly healthPath: string;
  /** Path that conversations are posted to; null = the runtime takes none. */
  readonly conversationsPath: string | null;
  /** null = no limit set by the proxy. */
  readonly limits: {
    readonly memoryMb: number | null;
    readonly cpuSeconds: number | null;
    readonly cpus: number | null;
    readonly openFiles: number | null;
    readonly processes: number | null;
  };
}

export interface SandboxSettings {
  readonly driver: 'process' | 'docker' | 'kubernetes';
  readonly maxRunning: number;
  /** 0 = never. */
  readonly idlePauseMs: number;
  readonly startTimeoutMs: number;
  readonly isolation: 'auto' | 'bubblewrap' | 'none';
  readonly stopWithServer: boolean;
  readonly dockerSocket: string;
  /** Where sandboxes reach the interface, without `/api` and a trailing slash; null = derived, see platform/webhook-base.ts. */
  readonly webhookBaseUrl: string | null;
}

/** Which events of conversations outlive their sandbox. */
export interface EventSettings {
  readonly keep: boolean;
  /** Since the last event of a conversation. */
  readonly maxAgeMs: number;
  /** Of one conversation. */
  readonly maxEvents: number;
  readonly maxBytes: number;
  /** Of all conversations. */
  readonly maxTotalBytes: number;
}

/** The cluster of the kubernetes driver, and what its sandboxes have in common. */
export interface KubernetesSettings {
  /** null = the cluster that this server runs in. */
  readonly apiServer: string | null;
  /** null = read from `tokenFile` for each request. */
  readonly token: Secret | null;
  readonly tokenFile: string;
  /** null = the service account's where it is there, else the system's authorities. */
  readonly caFile: string | null;
  /** null = the one of this server's pod. */
  readonly namespace: string | null;
  /** `claim`: outlives the pod. */
  readonly volume: 'claim' | 'empty_dir';
  readonly volumeGb: number;
  /** null = the cluster's default. */
  readonly storageClass: string | null;
  readonly diskGb: number;
  readonly requestMemoryMb: number;
  readonly requestCpus: number;
  /** 0 = the image's or the cluster's. */
  readonly runAsUser: number;
  readonly imagePullSecrets: readonly string[];
  readonly runtimeClass: string | null;
  readonly nodeSelector: Readonly<Record<string, string>>;
  readonly tolerations: readonly Readonly<Record<string, unknown>>[];
}

/** Settings of the platform interface (`platform/`). */
export interface PlatformSettings {
  /** Who may call `/api`. With a single plain key, its user has no id. */
  readonly users: readonly { readonly key: Secret; readonly userId: string | null }[];
  /** Base64 of 32 bytes. */
  readonly secretKey: Secret;
  /** Without a trailing slash; null = the listening address. */
  readonly publicBaseUrl: string | null;
  /** Port of its own listener, 0 = any free port; null = served on the proxy's port. */
  readonly port: number | null;
  /** null = the proxy's host. */
  readonly host: string | null;
  readonly events: EventSettings;
  readonly sandbox: SandboxSettings;
  /** null = another driver. */
  readonly kubernetes: KubernetesSettings | null;
  /** The first is the default. */
  readonly sandboxSpecs: readonly SandboxSpec[];
}
