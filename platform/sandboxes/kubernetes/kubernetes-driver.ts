// Sandboxes as pods of a Kubernetes cluster: a Service, a Secret, a volume claim, a pod template and a pod for each. Pausing
// deletes the pod and keeps the rest; resuming makes another one of the template on the same volume.
import { hash } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { KubernetesSettings } from '../../../config/snapshot.ts';
import type { Clock } from '../../../proxy/base/clock.ts';
import {
  SandboxFailure,
  type SandboxCondition,
  type SandboxDriver,
  type SandboxPlace,
  type SandboxPlan,
} from '../driver.ts';
import { Cluster, type ClusterService } from './cluster.ts';
import { HOME_LABEL, ID_LABEL, manifestsOf, nameOf } from './manifests.ts';
import { podCondition, type Pod, type PodCondition } from './pod-condition.ts';

interface KubernetesDriverOptions {
  readonly settings: KubernetesSettings;
  readonly service: ClusterService;
  /** Of this server and no other; stays over restarts. */
  readonly serverId: string;
  readonly startTimeoutMs: number;
  readonly clock: Clock;
}

interface Service {
  readonly metadata: {
    readonly uid: string;
    readonly name: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly spec: { readonly clusterIP?: string };
}

interface PodTemplate {
  readonly template: { readonly metadata: object; readonly spec: object };
}

const POLL_MS = 250;
/** A node that does not answer confirms no end of a pod; the pod's own time to end is 10 s. */
const GONE_MS = 60_000;

export class KubernetesDriver implements SandboxDriver {
  readonly #options: KubernetesDriverOptions;
  readonly #cluster: Cluster;
  readonly #home: string;

  /** @throws SandboxFailure when it is not said where the API server is */
  constructor(options: KubernetesDriverOptions) {
    this.#options = options;
    this.#cluster = new Cluster(options.settings, options.service);
    this.#home = hash('sha256', options.serverId, 'hex').slice(0, 16);
  }

  async start(plan: SandboxPlan): Promise<SandboxPlace> {
    const { settings, startTimeoutMs } = this.#options;
    const { service, owned, workingDir } = manifestsOf({ plan, home: this.#home, settings, startTimeoutMs });
    const { metadata, spec } = (await this.#cluster.create('services', service)) as unknown as Service;
    for (const [kind, body] of owned(metadata)) await this.#cluster.create(kind, body);
    const name = nameOf(plan.id);
    await this.#createPod(name);
    const { port } = plan.spec;
    return { handle: name, url: `http://${hostOf(spec.clusterIP)}:${port}`, port, workingDir };
  }

  async inspect(_: string, { handle: name }: SandboxPlace): Promise<SandboxCondition> {
    const condition = await this.#look(name);
    switch (condition?.state) {
      case 'waiting':
      case 'ready':
        return { state: 'running', detail: condition.detail };
      case 'exited':
        return { state: 'exited', detail: condition.detail };
      default:
        return this.#withoutPod(name, condition?.detail ?? 'its pod is not there any more');
    }
  }

  async pause(_: string, { handle: name }: SandboxPlace): Promise<void> {
    if (this.#options.settings.volume !== 'claim')
      throw new SandboxFailure(
        'this sandbox cannot be paused: without a volume claim its folder would be lost (platform.sandbox.kubernetes.volume)',
      );
    await this.#removePod(name);
  }

  async resume(_: string, { handle: name }: SandboxPlace): Promise<void> {
    const condition = await this.#look(name);
    if (condition?.state === 'ready') return;
    if (condition === null || condition.state === 'exited' || condition.state === 'lost') {
      if (condition !== null) await this.#removePod(name);
      await this.#createPod(name);
    }
    try {
      await this.#untilReady(name);
    } catch (error) {
      await this.#removePod(name).catch(() => undefined); // paused as before, and nothing waits for a node for ever
      throw error;
    }
  }

  async remove(id: string): Promise<void> {
    const name = nameOf(id);
    for (const kind of ['pods', 'podtemplates', 'persistentvolumeclaims', 'secrets', 'services'])
      await this.#cluster.remove(kind, name);
  }

  async removeOrphans(known: ReadonlySet<string>): Promise<readonly string[]> {
    const selector = encodeURIComponent(`${HOME_LABEL}=${this.#home}`);
    const reply = await this.#cluster.call({ method: 'GET', path: `services?labelSelector=${selector}` });
    if (reply.status !== 200) throw this.#cluster.refusal(reply, 'list', 'services');
    const services = (reply.body?.['items'] ?? []) as readonly Service[];
    const ids = services.map(({ metadata }) => metadata.labels?.[ID_LABEL] ?? '');
    const strays = ids.filter((id) => id !== '' && !known.has(id));
    for (const id of strays) await this.remove(id);
    return strays;
  }

  /** null = there is no pod, or it is being deleted. */
  async #look(name: string): Promise<PodCondition | null> {
    const pod = (await this.#cluster.get('pods', name)) as Pod | null;
    if (pod === null || pod.metadata?.deletionTimestamp !== undefined) return null;
    return podCondition(pod);
  }

  /** A pod that a node or an administrator took away leaves the folder: the sandbox is paused then, not lost. */
  async #withoutPod(name: string, detail: string): Promise<SandboxCondition> {
    if (this.#options.settings.volume !== 'claim') return { state: 'gone', detail };
    const claim = await this.#cluster.get('persistentvolumeclaims', name);
    const { deletionTimestamp } = (claim?.['metadata'] ?? {}) as { readonly deletionTimestamp?: string };
    if (claim === null || deletionTimestamp !== undefined) return { state: 'gone', detail };
    return { state: 'paused', detail: `${detail}; its folder is kept, resume it to go on` };
  }

  async #createPod(name: string): Promise<void> {
    const found = (await this.#cluster.get('podtemplates', name)) as PodTemplate | null;
    if (found === null) throw new SandboxFailure('the pod template of the sandbox is not there any more');
    const { metadata, spec } = found.template;
    await this.#cluster.create('pods', {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { ...metadata, name },
      spec,
    });
  }

  async #removePod(name: string): Promise<void> {
    await this.#cluster.remove('pods', name);
    const endsAt = this.#options.clock.mono() + GONE_MS;
    while ((await this.#cluster.get('pods', name)) !== null) {
      if (this.#options.clock.mono() > endsAt)
        throw new SandboxFailure('the pod does not end; its node may be down');
      await wait(POLL_MS);
    }
  }

  async #untilReady(name: string): Promise<void> {
    const { clock, startTimeoutMs } = this.#options;
    const endsAt = clock.mono() + startTimeoutMs;
    for (;;) {
      const condition = await this.#look(name);
      if (condition?.state === 'ready') return;
      if (condition?.state !== 'waiting')
        throw new SandboxFailure(condition?.detail ?? 'its pod was deleted');
      if (clock.mono() > endsAt)
        throw new SandboxFailure(
          `its pod was not ready within ${startTimeoutMs / 1000} s: ${condition.detail}`,
        );
      await wait(POLL_MS);
    }
  }
}

/** An address, not the name: a name that is asked for before it exists is denied by DNS caches for half a minute. */
function hostOf(clusterIP: string | undefined): string {
  if (clusterIP === undefined || clusterIP === '' || clusterIP === 'None')
    throw new SandboxFailure('Kubernetes gave the Service of the sandbox no address');
  return clusterIP.includes(':') ? `[${clusterIP}]` : clusterIP;
}
