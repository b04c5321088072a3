// What a gateway of others is to the compatibility checks: how it is started between this proxy and a provider, how an entry
// reaches a model behind it, where its own log is read, and which checks are known not to hold.
import type { InteropRun } from '../harness/suite.ts';

/** Members of a `litellm_params`. */
export type EntryParams = Readonly<Record<string, unknown>>;

/** The models that each gateway is told to have. The provider answers by these names. */
export const PROVIDER_MODELS = [
  'demo-one',
  'demo-two',
  'demo-stall',
  'demo-cut',
  'demo-429',
  'demo-refuse-400',
  'demo-hold',
] as const;
export type ProviderModel = (typeof PROVIDER_MODELS)[number];

export const PROVIDER_KEY = 'sk-provider';
/** Bifrost wants the prefix; the others take any. */
export const GATEWAY_KEY = 'sk-bf-gateway-key';
export const WRONG_KEY = 'sk-bf-wrong';

/** What a gateway has noted of one call; null = it notes no such thing. */
export interface GatewayNote {
  readonly session: string | null;
  readonly user: string | null;
  readonly tags: readonly string[];
  readonly metadata: Readonly<Record<string, unknown>>;
}

export interface RunningGateway {
  readonly port: number;
  /** For this proxy. */
  readonly key: string;
  /** As an operator's `kill -9`. */
  kill(): Promise<void>;
  /** Its own row or log line of a call, once it is there; absent: it keeps none. */
  readonly note?: (session: string) => Promise<GatewayNote>;
}

export interface EntryRequest {
  /** Of the tap before the gateway, without a path. */
  readonly url: string;
  /** Of the provider, for gateways that are told with each call. */
  readonly providerUrl: string;
  readonly model: string;
  readonly key: string;
  /** The API that the gateway is asked for. */
  readonly api?: 'messages' | 'responses';
}

/** Why a check does not hold, and how its failure must begin: a failure of another kind, or none, fails the run. */
export interface Limit {
  readonly cell: 'no' | 'not offered';
  readonly why: string;
  readonly fails: RegExp;
}

export interface GatewayRecipe {
  readonly name: string;
  /** One sentence for the page: how it was run. */
  readonly how: string;
  /** Installs it. @returns its version. @throws Missing */
  readonly prepare: (run: InteropRun) => Promise<string>;
  readonly start: (run: InteropRun, providerUrl: string) => Promise<RunningGateway>;
  readonly entry: (request: EntryRequest) => EntryParams;
  /** The name and value under which a client's header must be sent so that it reaches the provider. */
  readonly headerForProvider: string;
  /** Our header in which the session reaches it. */
  readonly sessionHeader: string;
  /** By the id of the check. */
  readonly limits: Readonly<Record<string, Limit>>;
}
