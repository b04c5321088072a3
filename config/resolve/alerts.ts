// The `alerts` section, and the dialect's `general_settings.alerting` with its environment variables -> AlertSettings. Messages
// never show a URL, because that of Slack is a key. Pure.
import {
  ALERT_KINDS,
  ANOMALY_SCOPES,
  type AlertChannel,
  type AlertKind,
  type AlertSettings,
  type SpendAnomalySettings,
} from '../alert-settings.ts';
import { scaledDecimal } from '../decimal.ts';
import type { Diagnostics } from '../diagnostics.ts';
import type { GatewayFile } from '../gateway-file.ts';
import type { Environment } from '../environment.ts';
import { Secret } from '../secret.ts';
import { shownName } from '../shown.ts';
import type { Path } from '../tree.ts';

const DAY_MS = 86_400_000;
const PICO_DIGITS = 12;
/** Days that an hour is compared with, and without how many nothing is said. */
const [MOST_DAYS, LEAST_DAYS] = [14, 3];

/** The dialect's word for all that is about budgets. */
const DIALECT_KINDS: Readonly<Record<string, readonly AlertKind[]>> = {
  budget_alerts: ['soft_budget', 'budget_used_up'],
};

/** The dialect's channels, and where it finds their addresses. */
const DIALECT_CHANNELS = {
  slack: { format: 'slack', variable: 'SLACK_WEBHOOK_URL' },
  webhook: { format: 'json', variable: 'WEBHOOK_URL' },
} as const;

/** @param retentionMs how long rows are kept; null = for ever */
export function alertsOf(
  file: GatewayFile,
  env: Environment,
  retentionMs: number | null,
  diagnostics: Diagnostics,
): AlertSettings {
  const { alerts } = file;
  return {
    channels: [...stated(file, diagnostics), ...fromDialect(file, env, diagnostics)],
    keyExpiryMs: Math.round(Number(alerts.key_expiry_days) * DAY_MS),
    spendAnomaly: anomalyOf(file, retentionMs, diagnostics),
  };
}

function anomalyOf(
  { alerts: { spend_anomaly: stated } }: GatewayFile,
  retentionMs: number | null,
  diagnostics: Diagnostics,
): SpendAnomalySettings | null {
  if (stated === undefined) return null;
  const kept = retentionMs === null ? MOST_DAYS : Math.floor(retentionMs / DAY_MS);
  if (kept < MOST_DAYS) {
    const [message, fix] =
      kept < LEAST_DAYS
        ? [`finds nothing: rows are kept for ${kept} days`, 'keep rows for 3 days at least, better 14']
        : [`compares with ${kept} days only: older rows are removed`, 'keep rows for 14 days'];
    diagnostics.warn(['alerts', 'spend_anomaly'], message, fix, 'key');
  }
  return {
    minPico: scaledDecimal(String(stated.min_cost_per_hour), PICO_DIGITS) ?? 0n,
    factor: Number(stated.factor),
    scopes: new Set(stated.scopes ?? ANOMALY_SCOPES),
    days: Math.min(kept, MOST_DAYS),
  };
}

function stated({ alerts }: GatewayFile, diagnostics: Diagnostics): AlertChannel[] {
  const names = new Set<string>();
  return alerts.webhooks.flatMap(({ name, format, url, secret, kinds }, index) => {
    const path = ['alerts', 'webhooks', index];
    if (names.has(name) || name in DIALECT_CHANNELS) {
      const message = `${shownName(name)} is the name of another channel`;
      diagnostics.error(
        [...path, 'name'],
        message,
        'give each its own: it tells them apart in metrics and after a restart',
      );
      return [];
    }
    names.add(name);
    if (!isUrl(url, [...path, 'url'], diagnostics)) return [];
    const channel: AlertChannel = {
      name,
      format,
      url: new Secret(url),
      secret: secret === undefined ? null : new Secret(secret),
      kinds: new Set(kinds ?? ALERT_KINDS),
    };
    return [channel];
  });
}

function fromDialect(
  { general_settings: general }: GatewayFile,
  env: Environment,
  diagnostics: Diagnostics,
): AlertChannel[] {
  const kinds = kindsOf(general.alert_types, diagnostics);
  return (general.alerting ?? []).flatMap((name, index) => {
    const path = ['general_settings', 'alerting', index];
    if (name !== 'slack' && name !== 'webhook') {
      const fix = 'use slack, webhook, or alerts.webhooks';
      diagnostics.warn(path, `${shownName(name)} is no channel of alerts here`, fix);
      return [];
    }
    const { format, variable } = DIALECT_CHANNELS[name];
    const url = (env[variable] ?? '').trim();
    if (url === '') {
      const message = `sends nothing: ${variable} is not set`;
      diagnostics.warn(path, message, `set the environment variable ${variable}, or remove ${name}`);
      return [];
    }
    if (!isUrl(url, path, diagnostics, variable)) return [];
    return [{ name, format, url: new Secret(url), secret: null, kinds }];
  });
}

/** Without `alert_types` all; else those it names, in the dialect's words or ours. */
function kindsOf(types: readonly string[] | undefined, diagnostics: Diagnostics): ReadonlySet<AlertKind> {
  if (types === undefined) return new Set(ALERT_KINDS);
  const kinds = new Set<AlertKind>();
  types.forEach((type, index) => {
    const meant = ALERT_KINDS.filter((kind) => kind === type || DIALECT_KINDS[type]?.includes(kind) === true);
    for (const kind of meant) kinds.add(kind);
    if (meant.length > 0) return;
    const path = ['general_settings', 'alert_types', index];
    diagnostics.warn(
      path,
      `${shownName(type)} is no alert here`,
      `one of budget_alerts, ${ALERT_KINDS.join(', ')}`,
    );
  });
  return kinds;
}

function isUrl(url: string, path: Path, diagnostics: Diagnostics, variable = 'it'): boolean {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  const isHttp = parsed?.protocol === 'https:' || parsed?.protocol === 'http:';
  if (isHttp && parsed.username === '' && parsed.password === '') return true;
  const message = `${variable} must be an http or https URL without a user and a password`;
  diagnostics.error(path, message, 'for example https://alerts.example.com/throughline');
  return false;
}
