// The environment in which the runtime of a sandbox starts: what the operator, the user and this server tell it.
import { Secret } from '../../config/secret.ts';
import type { SandboxSpec } from '../../config/snapshot.ts';

type Variables = readonly (readonly [name: string, value: Secret])[];

/** Agents type secrets into shells (`export TOKEN=...`), and bash writes what was typed to ~/.bash_history when it ends. */
const NO_HISTORY = ['HISTFILE', new Secret('/dev/null')] as const;

/** Under both of them an agent server reads the key that its clients must send. */
const KEY_NAMES = ['SESSION_API_KEY', 'OH_SESSION_API_KEYS_0'];

interface Told {
  readonly spec: Pick<SandboxSpec, 'initialEnv'>;
  /** For this sandbox, beside what its spec says. */
  readonly given: Variables;
  readonly key: Secret;
  /** Where agent servers reach this interface; null = nowhere. */
  readonly apiUrl: string | null;
}

/** In the order in which later ones win; the spec's own are the driver's to put in front. */
export function environmentOf({ spec, given, key, apiUrl }: Told): Variables {
  const keepsHistory = spec.initialEnv.some(([name]) => name === NO_HISTORY[0]);
  return [
    ...(keepsHistory ? [] : [NO_HISTORY]),
    ...given,
    ...webhooksAt(apiUrl),
    ...KEY_NAMES.map((name) => [name, key] as const),
  ];
}

/** An agent server reads its webhook there, and sends the sandbox's key along by itself. */
const webhooksAt = (apiUrl: string | null): Variables =>
  apiUrl === null ? [] : [['OH_WEBHOOKS_0_BASE_URL', new Secret(`${apiUrl}/webhooks`)]];
