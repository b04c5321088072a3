// Where several servers count budgets and limits together.
import type { Secret } from './secret.ts';

/** The Valkey or Redis in which several servers count together. */
export interface ValkeySettings {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  readonly username: string | null;
  readonly password: Secret | null;
  readonly database: number;
  /** Keeps several installations apart that share one server. */
  readonly namespace: string;
  /** While it is away: refuse calls that have limits, or budgets; else count alone with a share of each. */
  readonly failClosed: { readonly limits: boolean; readonly budgets: boolean };
  /** `redis://host:port/0`: for messages, without user and password. */
  readonly shown: string;
}
