// What a pod's status says of its sandbox, in words for its owner. Pure. The reasons are those of kubelet and of the
// scheduler: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/
import type { SandboxCondition } from '../driver.ts';

interface Terminated {
  readonly exitCode?: number;
  readonly reason?: string;
  readonly message?: string;
}

interface ContainerStatus {
  readonly name?: string;
  readonly state?: {
    readonly waiting?: { readonly reason?: string; readonly message?: string };
    readonly terminated?: Terminated;
  };
  readonly lastState?: { readonly terminated?: Terminated };
}

/** The part of a pod that is read. */
export interface Pod {
  readonly metadata?: { readonly name?: string; readonly deletionTimestamp?: string };
  readonly spec?: {
    readonly containers?: readonly {
      readonly name?: string;
      readonly resources?: { readonly limits?: { readonly memory?: string } };
    }[];
  };
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly message?: string;
    readonly conditions?: readonly {
      readonly type?: string;
      readonly status?: string;
      readonly reason?: string;
      readonly message?: string;
    }[];
    readonly containerStatuses?: readonly ContainerStatus[];
  };
}

/** `lost`: the cluster took it away; its command did not end by itself. `waiting`: for a node, an image, a volume. */
export type PodCondition = Omit<SandboxCondition, 'state'> & {
  readonly state: 'waiting' | 'ready' | 'exited' | 'lost';
};

/** Reasons of a waiting container that waiting does not mend, or has not mended once already. */
const HOPELESS: Readonly<Record<string, string>> = {
  ImagePullBackOff:
    'its image cannot be pulled; is its name right, and does kubernetes.image_pull_secrets name what the registry asks for?',
  InvalidImageName: 'the name of its image is not valid',
  ErrImageNeverPull: 'its image is not on the node, and pulling is switched off',
  CreateContainerConfigError: 'its container cannot be configured',
  CreateContainerError: 'its container cannot be created',
  RunContainerError: 'its container cannot be started',
  CrashLoopBackOff: 'its command ends again and again',
};

export function podCondition(pod: Pod): PodCondition {
  const { status } = pod;
  const main = pod.spec?.containers?.find(({ name }) => name === 'sandbox');
  const memoryLimit = main?.resources?.limits?.memory ?? 'its node';
  const container = status?.containerStatuses?.find(({ name }) => name === 'sandbox');
  if (status?.phase === 'Failed' || status?.phase === 'Succeeded') return endOf(pod, container, memoryLimit);
  const ready = status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True');
  if (ready === true) return { state: 'ready', detail: '' };
  const waiting = container?.state?.waiting;
  const hopeless = HOPELESS[waiting?.reason ?? ''];
  if (hopeless !== undefined) return { state: 'exited', detail: withWords(hopeless, waiting) };
  const ended = container?.state?.terminated;
  if (ended !== undefined) return { state: 'exited', detail: exitOf(ended, memoryLimit) };
  const scheduled = status?.conditions?.find(({ type }) => type === 'PodScheduled');
  if (scheduled?.status === 'False')
    return {
      state: 'waiting',
      detail: `no node takes its pod: ${short(scheduled.message ?? scheduled.reason ?? '')}`,
    };
  return { state: 'waiting', detail: withWords('its pod is being started', waiting) };
}

function endOf({ status }: Pod, container: ContainerStatus | undefined, memoryLimit: string): PodCondition {
  const disrupted = status?.conditions?.find(
    ({ type, status: is }) => type === 'DisruptionTarget' && is === 'True',
  );
  const reason = status?.reason ?? disrupted?.reason;
  if (reason !== undefined && reason !== '') {
    const words = short(status?.message ?? disrupted?.message ?? '');
    return {
      state: 'lost',
      detail: `Kubernetes ended its pod (${reason})${words === '' ? '' : `: ${words}`}`,
    };
  }
  const ended = container?.state?.terminated ?? container?.lastState?.terminated;
  return { state: 'exited', detail: exitOf(ended, memoryLimit) };
}

function exitOf(ended: Terminated | undefined, memoryLimit: string): string {
  if (ended?.reason === 'OOMKilled') return `it used more memory than its limit of ${memoryLimit}`;
  const words = ended?.reason === 'StartError' || ended?.reason === 'ContainerCannotRun' ? ended.message : '';
  const base = `its container ended with code ${ended?.exitCode ?? '?'}`;
  return words === undefined || words === '' ? base : `${base}: ${short(words)}`;
}

function withWords(
  text: string,
  waiting: { readonly reason?: string; readonly message?: string } | undefined,
): string {
  const { reason = '', message = '' } = waiting ?? {};
  if (reason === '') return text;
  return message === '' ? `${text} (${reason})` : `${text} (${reason}: ${short(message)})`;
}

const short = (text: string): string => (text.length > 300 ? `${text.slice(0, 300)}...` : text);
