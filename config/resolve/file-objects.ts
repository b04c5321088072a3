// `keys:` and `teams:` of the file -> FileKey and FileTeam. Pure; reports problems to the diagnostics.
import { beginsWithDay } from '../calendar-day.ts';
import type { FileKey, FileTeam, FileTerms, InferenceKey } from '../access-settings.ts';
import type { Diagnostics } from '../diagnostics.ts';
import type * as File from '../gateway-file.ts';
import type { Secret } from '../secret.ts';
import { nodeAt, type Path, type Tree } from '../tree.ts';
import { keyAt } from './address.ts';
import { DistinctKeys } from './distinct-keys.ts';

interface Sources {
  readonly file: File.GatewayFile;
  /** Says where a value comes from. */
  readonly tree: Tree;
  readonly masterKey: Secret | null;
  readonly inferenceKeys: readonly InferenceKey[];
  readonly diagnostics: Diagnostics;
}

/** A date alone would end a key at another moment in each zone. */
const MOMENT = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)$/i;
const REFERENCE = 'write a reference such as os.environ/CI_KEY, or its `hash`';

export function fileKeysOf({ file, tree, masterKey, inferenceKeys, diagnostics }: Sources): FileKey[] {
  if (file.keys.length > 0 && masterKey === null && diagnostics.isSound(['general_settings', 'master_key']))
    diagnostics.error(
      ['keys'],
      'protect nothing without a master key: everybody may call every route',
      'set general_settings.master_key, or PROXY_MASTER_KEY',
      'key',
    );
  const distinct = new DistinctKeys(masterKey, diagnostics);
  for (const { key } of inferenceKeys)
    distinct.take(key, 'this key stands in general_settings.inference_keys, too');
  return file.keys.flatMap((entry, index) => {
    const path: Path = ['keys', index];
    if (!diagnostics.isSound(path)) return [];
    const value = valueOf(entry, path, tree, diagnostics);
    if (value === null) return [];
    distinct.add(value.sha256, path);
    distinct.addName(entry.key_alias, [...path, 'key_alias']);
    return [
      {
        ...value,
        ...termsOf(entry),
        alias: entry.key_alias,
        type: entry.key_type,
        allowedRoutes: entry.allowed_routes,
        models: entry.models,
        aliases: entry.aliases,
        teamId: entry.team_id ?? null,
        userId: entry.user_id ?? null,
        ofSessions: sessionTermsOf(entry),
        allowsChaos: entry.allow_chaos,
        expiresMs: momentAt(entry.expires, [...path, 'expires'], diagnostics),
      },
    ];
  });
}

export function fileTeamsOf({ file, diagnostics }: Sources): FileTeam[] {
  const ids = new Set<string>();
  return file.teams.flatMap((entry, index) => {
    const path: Path = ['teams', index];
    if (!diagnostics.isSound(path)) return [];
    if (ids.has(entry.team_id))
      diagnostics.error([...path, 'team_id'], 'another team has this id', 'choose another one');
    ids.add(entry.team_id);
    return [
      {
        ...termsOf(entry),
        id: entry.team_id,
        alias: entry.team_alias ?? null,
        models: entry.models,
        modelAliases: entry.model_aliases,
        members: entry.members.map(({ user_id: userId, role }) => ({ userId, role })),
      },
    ];
  });
}

const OF_SESSIONS = [
  'max_iterations',
  'max_budget_per_session',
  'session_rpm_limit',
  'session_tpm_limit',
] as const;

function sessionTermsOf(entry: File.FileKey): Readonly<Record<string, number>> {
  const stated = OF_SESSIONS.flatMap((name) =>
    entry[name] === undefined ? [] : [[name, entry[name]] as const],
  );
  return Object.fromEntries(stated);
}

function valueOf(
  { key, hash }: File.FileKey,
  path: Path,
  tree: Tree,
  diagnostics: Diagnostics,
): Pick<FileKey, 'sha256' | 'lastFour'> | null {
  if ((key === undefined) === (hash === undefined)) {
    diagnostics.error(path, 'needs either `key` or `hash`', REFERENCE);
    return null;
  }
  if (hash !== undefined) return { sha256: hash, lastFour: '' };
  const at = [...path, 'key'];
  const node = nodeAt(tree, at);
  if (node?.kind === 'scalar' && node.reference === null) {
    diagnostics.error(at, 'holds the key itself; whoever reads the file could call', REFERENCE);
    return null;
  }
  const secret = keyAt(key, at, diagnostics);
  return secret === null ? null : { sha256: secret.sha256(), lastFour: secret.reveal().slice(-4) };
}

function termsOf(entry: File.FileKey | File.FileTeam): FileTerms {
  return {
    maxBudget: entry.max_budget ?? null,
    softBudget: entry.soft_budget ?? null,
    budgetDuration: entry.budget_duration ?? null,
    rpm: entry.rpm_limit ?? null,
    tpm: entry.tpm_limit ?? null,
    maxParallel: entry.max_parallel_requests ?? null,
    modelRpm: entry.model_rpm_limit,
    modelTpm: entry.model_tpm_limit,
    tags: entry.tags,
    blocked: entry.blocked,
  };
}

function momentAt(text: string | undefined, path: Path, diagnostics: Diagnostics): number | null {
  if (text === undefined) return null;
  const ms = MOMENT.test(text) && beginsWithDay(text) ? Date.parse(text.replace(' ', 'T')) : NaN;
  if (!Number.isNaN(ms)) return ms;
  diagnostics.error(path, 'is no date and time with a zone', 'write it as 2027-01-01T00:00:00Z');
  return null;
}
