// What an entry states of the requests to its deployment: `temperature`, `reasoning_effort` and the like, and `extra_body`.
import type { Diagnostics } from '../diagnostics.ts';
import type { EntryParams } from '../gateway-file.ts';
import { Secret } from '../secret.ts';
import { below, SCHEMA, typesOf } from '../schema.ts';
import { SETTINGS, SETTINGS_OF, type StatedMembers } from '../stated-members.ts';
import type { Path } from '../tree.ts';

/**
 * Members by which the proxy goes: what is sent must be what it has read, counted and recorded. What is said to a model is the
 * client's.
 */
const NOT_EXTRA: ReadonlyMap<string, string> = new Map([
  ['model', 'write the name of the model in litellm_params.model'],
  ['stream', 'remove it: the client says whether its answer streams'],
  ['stream_options', 'remove it: the usage of streams is asked for by itself'],
  ['user', 'remove it: the end user is recorded, and named to the gateway where that takes a header for it'],
  ['n', 'write litellm_params.n'],
  ['best_of', 'remove it: the client says how many answers it wants'],
  ['background', 'remove it: the client says whether it waits for its answer'],
  ['previous_response_id', 'remove it: the client says which answer it continues'],
  ...['messages', 'input', 'prompt', 'contents', 'extra_body'].map((name): [string, string] => [
    name,
    'remove it: the client says it',
  ]),
]);

/** null: the entry states nothing. @param serves protocols that its gateway speaks; null = not stated */
export function statedMembersOf(
  params: EntryParams,
  serves: ReadonlySet<string> | null,
  at: Path,
  diagnostics: Diagnostics,
): StatedMembers | null {
  const settings: Record<string, unknown> = {};
  for (const name of SETTINGS) {
    const value = settingOf(name, params[name], at, diagnostics);
    if (value === undefined) continue;
    if (serves !== null) warnOfLost(name, serves, at, diagnostics);
    settings[name] = value;
  }
  const extra = Object.entries(params.extra_body ?? {}).flatMap(([name, value]) => {
    const fix = NOT_EXTRA.get(name);
    if (fix === undefined) return [[name, new Secret(JSON.stringify(value))] as const];
    diagnostics.error(
      [...at, 'extra_body', name],
      'is nothing that an entry may state for every call',
      fix,
      'key',
    );
    return [];
  });
  return Object.keys(settings).length === 0 && extra.length === 0 ? null : { settings, extra };
}

/** A number may be written as text, which a variable always is. */
function settingOf(name: string, value: unknown, at: Path, diagnostics: Diagnostics): unknown {
  if (name === 'reasoning_effort' && typeof value === 'object' && value !== null) {
    const { effort, ...others }: { readonly effort?: unknown } = value;
    for (const key of Object.keys(others))
      diagnostics.warn(
        [...at, name, key],
        'has no effect here',
        'the level is sent, nothing else of it',
        'key',
      );
    return typeof effort === 'string' ? effort : undefined;
  }
  const types = typesOf(PARAMS?.properties?.[name]);
  const isNumber = types.includes('number') || types.includes('integer');
  return typeof value === 'string' && isNumber ? Number(value) : value;
}

const PARAMS = below(SCHEMA.properties?.['model_list']?.items, 'litellm_params');

/** No protocol of its gateway has a member for it. */
function warnOfLost(name: string, serves: ReadonlySet<string>, at: Path, diagnostics: Diagnostics): void {
  // A list of those that are translated says nothing about embeddings.
  if (SETTINGS_OF.get('embeddings')?.includes(name) === true) return;
  if ([...serves].some((one) => SETTINGS_OF.get(one)?.includes(name) === true)) return;
  const spoken = [...serves].join(', ');
  diagnostics.warn([...at, name], `has no effect here: ${spoken} has no such member`, 'remove it', 'key');
}
