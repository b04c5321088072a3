// Where several servers count budgets and limits together.
import type { Secret } from './secret.ts';

/** Files, PEM; null = what Node has, or none. Read for each connection. */
export interface ValkeyTls {
  /** Authorities. */
  readonly caFile: string | null;
  /** Of the proxy itself. */
  readonly certFile: string | null;
  readonly keyFile: string | null;
}

export interface ValkeyNode {
  readonly host: string;
  readonly port: number;
}

/** Servers that say which of several Valkeys or Redises is the one to write to. */
export interface ValkeySentinels {
  /** The name under which they know it. */
  readonly service: string;
  readonly nodes: readonly ValkeyNode[];
  readonly password: Secret | null;
}

/** The Valkey or Redis in which several servers count together. */
export interface ValkeySettings extends ValkeyNode {
  /** null = not encrypted. */
  readonly tls: ValkeyTls | null;
  /** null = `host` and `port` are the server's; else the Sentinels say where it is. */
  readonly sentinels: ValkeySentinels | null;
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
