// What `throughline explain --key` and `--team` print: what a caller may call, which budgets and limits its calls have, in which
// order they refuse and where they are stated, and what the brake would do. Found with the very code that serves calls.
import type { BrakeRule, BrakeThresholds } from '../../config/brake-settings.ts';
import { isRule } from '../access/budgets/cap-sources.ts';
import { capAt, capName, type Cap } from '../access/budgets/caps.ts';
import { memberOf, type ScopedRecord } from '../access/budgets/scopes.ts';
import { keyCaller, type KeyCaller } from '../access/caller.ts';
import { checkKey } from '../access/key-checks.ts';
import type { ScopedLimit } from '../access/limits/call-limits.ts';
import { modelListsOf } from '../access/model-access.ts';
import { blankKey } from '../access/objects/blank.ts';
import type { AccessObject } from '../access/objects/objects.ts';
import type { ActiveConfig } from '../active-config/active-config.ts';
import { Fault } from '../errors/fault.ts';
import { dollarText } from '../spend/record/dollars.ts';
import { checkModel } from '../pipeline/models-of-caller.ts';
import type { ReadCall } from '../pipeline/read-call.ts';
import { scopedOf } from '../pipeline/spend-entries.ts';
import type { SelectedDeployment } from '../pipeline/select-deployment.ts';
import type { ConfigPlaces } from './config-places.ts';
import { checkKeyName } from './key-rows.ts';
import { UsageError } from './terminal.ts';

/** Who is explained. */
export interface AskedCaller {
  /** An alias or a SHA-256. */
  readonly key?: string | undefined;
  readonly team?: string | undefined;
}

/** @throws UsageError where there is none */
export function callerAsked(
  { services }: ActiveConfig,
  { key: name, team: teamId }: AskedCaller,
): KeyCaller | null {
  if (name === undefined && teamId === undefined) return null;
  if (name !== undefined && teamId !== undefined)
    throw new UsageError('--key and --team both say who calls - give one of them');
  const { directory } = services.access;
  if (name === undefined) {
    const team = directory.team(teamId ?? '');
    if (team === null) throw new UsageError(`there is no team ${teamId ?? ''} ${WHERE}`);
    return keyCaller({ ...blankKey('', '', 0), teamId: team.id }, team, null);
  }
  checkKeyName(name);
  const key =
    directory.key(name.toLowerCase()) ?? [...directory.all('key')].find(({ alias }) => alias === name);
  if (key === undefined) throw new UsageError(`there is no key ${name} ${WHERE}`);
  const team = key.teamId === null ? null : directory.team(key.teamId);
  return keyCaller(key, team, key.userId === null ? null : directory.user(key.userId));
}

const WHERE =
  'in the configuration and its database - without a database, give --data-dir DIR for those that were made by API';

interface ExplainedCall extends ReadCall {
  /** null: the call is refused. */
  readonly selected: SelectedDeployment | null;
}

interface Explained {
  readonly active: ActiveConfig;
  readonly caller: KeyCaller;
  readonly places: ConfigPlaces;
  /** What is asked for and where it would go; null = nothing in particular. */
  readonly call: ExplainedCall | null;
  readonly nowMs: number;
}

export function callerText(of: Explained): string {
  return [...whoLines(of), ...modelLines(of), ...budgetLines(of), ...limitLines(of), ...brakeLines(of)].join(
    '',
  );
}

const line = (name: string, value: string, from = ''): string =>
  `  ${name.padEnd(20)}${from === '' ? value : `${value.padEnd(44)}${from}`}\n`;

function whoLines({ caller, places, nowMs }: Explained): string[] {
  const { key, team, user } = caller;
  const lines = ['caller\n'];
  if (caller.keyHash !== '') {
    const routes = key.allowedRoutes.length > 0 ? `, routes ${key.allowedRoutes.join(', ')}` : '';
    lines.push(
      line('key', `${key.alias ?? key.name} (${key.name})`, originOf(key, places)),
      line('opens', `${key.type}${routes}`),
      line('let in', letIn(caller, nowMs)),
    );
  }
  if (key.teamId !== null)
    lines.push(
      team === null
        ? line('team', `${key.teamId}, which does not exist: nothing of it holds`)
        : line('team', team.alias === null ? team.id : `${team.id} (${team.alias})`, originOf(team, places)),
    );
  if (key.userId !== null)
    lines.push(line('user', key.userId, user === null ? 'not stated anywhere' : originOf(user, places)));
  return lines;
}

function letIn({ key, team }: KeyCaller, nowMs: number): string {
  try {
    checkKey(key, team, nowMs);
  } catch (error) {
    if (error instanceof Fault) return `no: ${error.status} ${error.code}`;
    throw error;
  }
  return key.expiresMs === null ? 'yes' : `until ${new Date(key.expiresMs).toISOString()}`;
}

function originOf(object: AccessObject, places: ConfigPlaces): string {
  if (object.origin === 'store') return `made by API, changed ${new Date(object.updatedMs).toISOString()}`;
  if (object.kind === 'key') return places.entry('keys', 'key_alias', object.alias ?? '');
  return places.entry('teams', 'team_id', object.id);
}

function modelLines({ active, caller, call }: Explained): string[] {
  const { key, team, user } = caller;
  const shown = (names: readonly string[]): string => (names.length === 0 ? 'all' : names.join(', '));
  const lines = ['models\n'];
  if (caller.keyHash !== '') lines.push(line('of the key', shown(key.models)));
  if (team !== null) lines.push(line('of the team', shown(team.models)));
  else if (user !== null) lines.push(line('of the user', shown(user.models)));
  for (const { owner, models } of modelListsOf(caller, active.services.access.directory))
    if (owner === 'org') lines.push(line('of the organization', shown(models)));
  const aliases = { ...team?.modelAliases, ...key.aliases };
  for (const [alias, name] of Object.entries(aliases)) lines.push(line('alias', `${alias} -> ${name}`));
  if (call === null) return lines;
  const { requested, request, models } = call;
  const as = request.model === requested ? '' : `, served as ${request.model}`;
  let answer = `allowed${as}`;
  try {
    checkModel(active, models, requested, request);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    answer = `refused: ${error.status} ${error.code}`;
  }
  lines.push(line(requested, answer));
  return lines;
}

/** The record of the call as far as budgets and limits ask. What it does not state is any: the rules for each one show. */
function scopedCall({ active, caller, call }: Explained): ScopedRecord {
  const { tags, sessionId, sessionSource, endUser } = call?.identity ?? NOT_STATED;
  const session = sessionSource === 'generated' ? NOT_STATED : { sessionId, sessionSource };
  return scopedOf(active, {
    caller,
    modelGroup: call?.request.model ?? '',
    identity: {
      tags,
      sessionId: session.sessionId,
      sessionSource: session.sessionSource,
      endUser: endUser ?? NOT_STATED.endUser,
    },
    selected: call?.selected ?? null,
  });
}

/** A conversation and an end user without rules of their own. */
const NOT_STATED = {
  tags: [],
  sessionId: '(any)',
  sessionSource: 'x-litellm-session-id',
  endUser: '(any)',
} as const;

function budgetLines(of: Explained): string[] {
  const { active, call } = of;
  const caps = active.services.budgets.capsFor(scopedCall(of));
  const only = call === null ? ' (give --model for those of models and deployments)' : '';
  if (caps.length === 0) return [`budgets\n  none${only}\n`];
  return [
    `budgets, in the order in which they refuse${only}\n`,
    ...caps.map((cap) =>
      line(cap.scope.kind.replaceAll('_', ' '), capText(cap, of.nowMs), capPlace(cap, of)),
    ),
  ];
}

function capText(cap: Cap, nowMs: number): string {
  const capPico = capAt(cap, nowMs);
  const soft = cap.softPico === null ? '' : `alert at ${dollarText(cap.softPico)} USD`;
  const most = capPico === null ? '' : `${dollarText(capPico)} USD`;
  return `${capName(cap)}: ${[most, soft].filter((text) => text !== '').join(', ')}`;
}

function capPlace(cap: Cap, { active, caller, places }: Explained): string {
  if (isRule(cap)) return places.rule(cap);
  const { kind, id } = cap.scope;
  const { directory } = active.services.access;
  const object = {
    key: () => caller.key,
    team: () => directory.team(id),
    member: () => directory.team(memberOf(id).teamId),
    user: () => directory.user(id),
    end_user: () => directory.customer(id),
    organization: () => directory.organization(id),
    tag: () => directory.tag(id),
    conversation: () => caller.key,
  };
  const owner = kind in object ? object[kind as keyof typeof object]() : null;
  if (owner === null) return '';
  const shared = 'budgetId' in owner && owner.budgetId !== null ? `budget ${owner.budgetId} of ` : '';
  return `${shared}${originOf(owner, places)}`;
}

function limitLines(of: Explained): string[] {
  const scoped = scopedCall(of);
  const { services, snapshot } = of.active;
  const limits = services.limits.of(scoped, snapshot.routing.aliases.get(scoped.modelGroup));
  if (limits.length === 0) return ['limits\n  none\n'];
  return [
    'limits, in the order in which they refuse\n',
    ...limits.map((limit) => line(limit.scope.replaceAll('_', ' '), limitText(limit))),
  ];
}

function limitText({ need, model }: ScopedLimit): string {
  const of = model === null ? '' : ` of ${model}`;
  if (need.kind === 'parallel') return `${need.most} calls at once${of}`;
  if (need.kind === 'calls') return `${need.most} calls in all`;
  return `${need.perMinute} ${need.kind} a minute${of}`;
}

const LEVELS = ['alert', 'slow', 'stop'] as const;

function brakeLines({ active: { snapshot }, places }: Explained): string[] {
  const { brake } = snapshot;
  if (brake === null) return ['brake\n  off: the configuration has no section brake\n'];
  const mode = brake.enforces
    ? 'slows and stops conversations'
    : 'watches: nothing is slowed or stopped (mode: observe)';
  const rules = Object.entries(brake.rules) as readonly (readonly [BrakeRule, BrakeThresholds])[];
  const lines = rules.flatMap(([rule, thresholds]) => {
    const levels = LEVELS.filter((level) => Number.isFinite(thresholds[level]));
    const text = levels.map((level) => `${level} from ${thresholds[level]}`).join(', ');
    return levels.length === 0 ? [] : [`  ${rule.padEnd(20)}${text}\n`];
  });
  return ['brake\n', line('mode', mode, places.at(['brake'])), ...lines];
}
