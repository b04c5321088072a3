// Alerts: events of access as receivers get them. Plain values that can stand in a file; amounts are exact texts and, for
// the dialect, numbers.
import { hash } from 'node:crypto';
import type { AlertKind } from '../../../config/alert-settings.ts';
import { dollarText } from '../../spend/record/dollars.ts';
import { memberOf, organizationOf, type Scope, type ScopeKind } from '../budgets/scopes.ts';
import type { AccessEvent, BrakeEvent, BudgetEvent, KeyExpiringEvent, SpendAnomalyEvent } from '../events.ts';
import type { AccessDirectory } from '../objects/directory.ts';

/** `error`: calls are refused. `warning`: they will be, or cost more than they should. */
export type AlertLevel = 'warning' | 'error';

/** Whom an alert is about. */
export interface AlertSubject {
  readonly kind: ScopeKind;
  /** As listings know it: of a key its SHA-256; '' = the whole proxy. */
  readonly id: string;
  /** For people, one line. */
  readonly name: string;
}

export interface Alert {
  /** The same for the same event, whoever noticed it: receivers tell by it what they have already. */
  readonly id: string;
  /** The same for what is told again of one thing, by any server: an acknowledgement holds for it. */
  readonly cause: string;
  readonly kind: AlertKind;
  /** Epoch milliseconds. */
  readonly atMs: number;
  readonly level: AlertLevel;
  readonly subject: AlertSubject;
  /** One sentence. */
  readonly text: string;
  /** What the body of the webhook has beside these. */
  readonly members: Readonly<Record<string, unknown>>;
}

/** Where names of objects come from. */
export type NameDirectory = Pick<AccessDirectory, 'key' | 'team' | 'user'>;

/** The dialect's words for events and for whom they are about. */
const DIALECT_EVENTS = { soft_budget: 'soft_budget_crossed', budget_used_up: 'budget_crossed' } as const;
const DIALECT_GROUPS: Partial<Readonly<Record<ScopeKind, string>>> = { member: 'team_member' };

/** What a used-up budget refuses, where that is not every call that counts for it: a team pays for calls with its keys. */
const REFUSED: Partial<Readonly<Record<ScopeKind, string>>> = { user: "calls with the user's own keys" };

/** Longer names are cut: a text is to be read on a phone, and ids of end users are the caller's to choose. */
const LONGEST_NAME = 100;

export function alertOf(event: AccessEvent, directory: NameDirectory): Alert {
  switch (event.kind) {
    case 'brake':
      return brakeAlert(event, directory);
    case 'key_expiring':
      return expiryAlert(event, directory);
    case 'spend_anomaly':
      return anomalyAlert(event, directory);
    default:
      return budgetAlert(event, directory);
  }
}

function budgetAlert(event: BudgetEvent, directory: NameDirectory): Alert {
  const { kind, scope, budget, spentPico, limitPico, windowStartMs, resetMs, atMs } = event;
  const isSoft = kind === 'soft_budget';
  const [spent, limit] = [dollarText(spentPico), dollarText(limitPico)];
  const name = nameOf(scope, directory);
  const end = resetMs === null ? '' : ` It begins anew at ${isoOf(resetMs)}.`;
  const text = isSoft
    ? `Soft budget reached: ${name} has spent ${spent} USD, the soft budget is ${limit} USD (${budget}).${end}`
    : `Budget used up: ${name} has spent ${spent} of ${limit} USD (${budget}); ${REFUSED[scope.kind] ?? 'calls'} are refused.${end}`;
  const id = idOf([kind, scope.kind, scope.id, budget, String(windowStartMs), String(limitPico)]);
  return {
    id,
    cause: id,
    kind,
    atMs,
    level: isSoft ? 'warning' : 'error',
    subject: subjectOf(scope, directory),
    text,
    members: {
      event: DIALECT_EVENTS[kind],
      event_group: DIALECT_GROUPS[scope.kind] ?? scope.kind,
      spend: Number(spent),
      max_budget: isSoft ? null : Number(limit),
      soft_budget: isSoft ? Number(limit) : null,
      ...whose(scope, directory),
      scope: scope.kind,
      scope_id: scope.id,
      budget,
      spent_usd: spent,
      limit_usd: limit,
      window_start: windowStartMs > 0 ? isoOf(windowStartMs) : null,
      resets_at: resetMs === null ? null : isoOf(resetMs),
    },
  };
}

function brakeAlert(event: BrakeEvent, directory: NameDirectory): Alert {
  const { kind, atMs, conversation, keyHash, rule, level, count, text } = event;
  const scope: Scope = { kind: 'key', id: keyHash };
  const what = level === 'stop' ? 'Conversation stopped' : 'Conversation goes in circles';
  return {
    id: idOf([kind, conversation, rule, level, String(atMs)]),
    cause: idOf([kind, keyHash, conversation, rule, level]),
    kind,
    atMs,
    level: level === 'stop' ? 'error' : 'warning',
    subject: { kind: 'conversation', id: conversation, name: cut(conversation) },
    text: `${what}: ${cut(conversation)}, ${nameOf(scope, directory)}. ${text}`,
    members: {
      event: level === 'stop' ? 'brake_stopped' : 'brake_noticed',
      event_group: 'conversation',
      spend: 0,
      ...whose(scope, directory),
      conversation,
      rule,
      level,
      count,
    },
  };
}

function expiryAlert({ kind, atMs, keyHash, expiresMs }: KeyExpiringEvent, directory: NameDirectory): Alert {
  const scope: Scope = { kind: 'key', id: keyHash };
  const expires = isoOf(expiresMs);
  const id = idOf([kind, keyHash, String(expiresMs)]);
  return {
    id,
    cause: id,
    kind,
    atMs,
    level: 'warning',
    subject: subjectOf(scope, directory),
    text: `Key about to expire: ${nameOf(scope, directory)} expires at ${expires}.`,
    members: { event: 'key_expiring', event_group: 'key', spend: 0, ...whose(scope, directory), expires },
  };
}

function anomalyAlert(event: SpendAnomalyEvent, directory: NameDirectory): Alert {
  const { kind, atMs, scope, hourMs, spentPico, usualPico } = event;
  const [spent, usual] = [dollarText(spentPico), dollarText(usualPico)];
  const hour = isoOf(hourMs);
  const known = usualPico === 0n ? 'nothing is usual' : `${usual} USD are usual`;
  const id = idOf([kind, scope.kind, scope.id, hour.slice(0, 10)]);
  return {
    id,
    cause: id,
    kind,
    atMs,
    level: 'warning',
    subject: subjectOf(scope, directory),
    text: `Spend anomaly: ${nameOf(scope, directory)} has spent ${spent} USD in the hour from ${hour}; ${known} at this time of the day.`,
    members: {
      event: 'spend_anomaly',
      event_group: scope.kind,
      spend: Number(spent),
      ...whose(scope, directory),
      scope: scope.kind,
      scope_id: scope.id,
      spent_usd: spent,
      usual_usd: usual,
      hour_start: hour,
    },
  };
}

/** The dialect's members that say whom an event is about. */
function whose({ kind, id }: Scope, directory: NameDirectory): Record<string, string | null> {
  const key = kind === 'key' ? directory.key(id) : null;
  const member = kind === 'member' ? memberOf(id) : null;
  const teamId = kind === 'team' ? id : (member?.teamId ?? key?.teamId ?? null);
  const team = teamId === null ? null : directory.team(teamId);
  const userId = kind === 'user' ? id : (member?.userId ?? key?.userId ?? null);
  return {
    token: kind === 'key' ? id : null,
    key_alias: key?.alias ?? null,
    team_id: teamId,
    team_alias: team?.alias ?? null,
    user_id: userId,
    user_email: userId === null ? null : (directory.user(userId)?.email ?? null),
    customer_id: kind === 'end_user' ? id : null,
    organization_id: kind === 'organization' ? id : organizationOf(team, key),
  };
}

function subjectOf(scope: Scope, directory: NameDirectory): AlertSubject {
  const { kind, id } = scope;
  return { kind, id: kind === 'member' ? memberOf(id).teamId : id, name: nameOf(scope, directory) };
}

function nameOf({ kind, id }: Scope, directory: NameDirectory): string {
  if (kind === 'proxy') return 'the proxy';
  if (kind === 'member') {
    const { teamId, userId } = memberOf(id);
    return `user ${cut(userId)} in team ${cut(teamId)}`;
  }
  if (kind === 'key') {
    const key = directory.key(id);
    return key === null ? `key ${id.slice(0, 12)}` : `key ${cut(key.alias ?? key.name)}`;
  }
  if (kind === 'team') return `team ${cut(directory.team(id)?.alias ?? id)}`;
  return `${kind.replaceAll('_', ' ')} ${cut(id)}`;
}

/** One line. */
function cut(name: string): string {
  const line = name.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, '\ufffd');
  return line.length > LONGEST_NAME ? `${line.slice(0, LONGEST_NAME)}...` : line;
}

const isoOf = (ms: number): string => new Date(ms).toISOString();

const idOf = (parts: readonly string[]): string =>
  `evt_${hash('sha256', JSON.stringify(parts), 'hex').slice(0, 32)}`;
