// What alerts are sent, and where, in the server's units.
import type { Secret } from './secret.ts';

export const ALERT_KINDS = [
  'soft_budget',
  'budget_used_up',
  'brake',
  'key_expiring',
  'spend_anomaly',
] as const;
export type AlertKind = (typeof ALERT_KINDS)[number];

/** `json`: the dialect's webhook event. `slack`: the text, as incoming webhooks of Slack and Mattermost take it. */
type AlertFormat = 'json' | 'slack';

/** One receiver of alerts. */
export interface AlertChannel {
  /** For logs and metrics; the same after a restart. */
  readonly name: string;
  readonly format: AlertFormat;
  /** Secret: that of Slack is its key. */
  readonly url: Secret;
  /** Signs what is sent; null = unsigned. */
  readonly secret: Secret | null;
  readonly kinds: ReadonlySet<AlertKind>;
}

export const ANOMALY_SCOPES = ['key', 'team', 'proxy'] as const;
type AnomalyScope = (typeof ANOMALY_SCOPES)[number];

/** When spend is far above what is usual: the rule is that of docs/alerts.md. */
export interface SpendAnomalySettings {
  /** An hour that cost less is never an anomaly. */
  readonly minPico: bigint;
  /** How many times as much as usual. */
  readonly factor: number;
  readonly scopes: ReadonlySet<AnomalyScope>;
  /** How many days back rows are there; at most 14. */
  readonly days: number;
}

export interface AlertSettings {
  readonly channels: readonly AlertChannel[];
  /** So long before a key expires. */
  readonly keyExpiryMs: number;
  /** null = nobody looks. */
  readonly spendAnomaly: SpendAnomalySettings | null;
}
