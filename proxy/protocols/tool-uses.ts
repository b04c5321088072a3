// Uses of tools that an upstream runs by itself, and charges beside tokens, as far as answers tell of them in other places than
// their usage: calls in the output of responses, citations of chat completions, Gemini's grounding. The spelling decides, not
// the endpoint, as it does for counts of tokens (usage.ts).
import type { Mutable } from '../base/mutable.ts';
import { asObject, objectIn, textIn, type Json } from '../bodies/json.ts';
import type { Units } from './usage.ts';

/** Where answers of a protocol tell of them; absent in a protocol: its usage states all, or it has none. */
export interface ToolRules {
  /** Members of a document. */
  readonly members: ReadonlySet<string>;
  /** One of these texts stands in every document that tells of a use. They begin with a letter: quotes are everywhere. */
  readonly marks: readonly string[];
  /** Names of the members in these that lead there: of a document that is too large to be kept, they are. */
  readonly outline: ReadonlySet<string>;
}

export const RESPONSES_TOOLS: ToolRules = {
  members: new Set(['object', 'output', 'tool_usage']),
  marks: ['search_call"', 'interpreter_call"'],
  outline: new Set('type id status action container_id web_search num_requests'.split(' ')),
};

export const CHAT_TOOLS: ToolRules = {
  members: new Set(['choices']),
  marks: ['url_citation"'],
  outline: new Set(['message', 'annotations', 'type']),
};

/** Of Gemini's large events, the further members that lead to its grounding. */
export const GROUNDING: readonly string[] =
  'groundingMetadata webSearchQueries groundingChunks web maps googleMapsWidgetContextToken'.split(' ');

export const GEMINI_TOOLS: ToolRules = {
  members: new Set(['candidates']),
  marks: ['groundingMetadata"'],
  outline: new Set(GROUNDING),
};

export type ToolKind = 'searches' | 'fileSearches' | 'containers' | 'mapSearches';

/** Of one kind and answer: more are not told apart. No vendor lets an answer have as many. */
const MOST_USES = 1_000;
const NAME_CHARS = 256;

/** Where a use is told of: by itself, or in a list of all that the answer has. */
type Told = 'alone' | 'listed';

/**
 * The uses of one answer. Events repeat what others said, so each use has a name. Some gateways give the same call another name
 * in the list at the end, so that is counted apart, and the larger count holds.
 */
export class ToolUses {
  readonly #seen: Record<Told, Map<ToolKind, Set<string>> | null> = { alone: null, listed: null };
  #statedSearches = 0;

  add(kind: ToolKind, name: string, told: Told = 'alone'): void {
    const seen = (this.#seen[told] ??= new Map<ToolKind, Set<string>>());
    const names = seen.get(kind) ?? new Set();
    seen.set(kind, names);
    if (names.size < MOST_USES) names.add(name.slice(0, NAME_CHARS));
  }

  /** The upstream counted its searches itself. */
  stateSearches(count: unknown): void {
    const isCount = typeof count === 'number' && Number.isInteger(count);
    if (isCount && count > 0 && count <= MOST_USES) this.#statedSearches = count;
  }

  /** Absent = none. */
  get units(): Units {
    const { alone, listed } = this.#seen;
    if (alone === null && listed === null && this.#statedSearches === 0) return NO_UNITS;
    const units: Mutable<Units> = {};
    for (const [kind, { size }] of [...(alone ?? []), ...(listed ?? [])])
      units[kind] = Math.max(size, units[kind] ?? 0);
    if (this.#statedSearches > 0) units.searches = this.#statedSearches;
    return units;
  }
}

const NO_UNITS: Units = Object.freeze({});

/** The uses that a document tells of. @param answer of it, the members of the rules are enough */
export function toolUnitsIn(answer: Json): Units {
  const uses = new ToolUses();
  noteToolUses(answer, uses);
  return uses.units;
}

/** What it returns are items of the conversation: their calls were charged when they were made. */
const COMPACTION = 'response.compaction';

/** Notes the uses that a document, or one event of a stream, tells of. */
export function noteToolUses(answer: Json, uses: ToolUses): void {
  if (answer['object'] !== COMPACTION) noteItems(answer['output'], uses);
  noteItem(answer['item'], { place: textOf(answer['output_index']), told: 'alone' }, uses);
  noteBlock(objectIn(answer, 'content_block'), uses);
  uses.stateSearches(objectIn(objectIn(answer, 'tool_usage'), 'web_search')?.['num_requests']);
  if (answer['choices'] !== undefined && citesWeb(answer['choices'])) uses.add('searches', CITED);
  noteGrounding(answer['candidates'], uses);
}

/** Usage at the end of messages states its searches; this is for streams that break off before. One that failed has no list, and costs nothing. */
function noteBlock(block: Json | null, uses: ToolUses): void {
  if (block === null || block['type'] !== 'web_search_tool_result' || !Array.isArray(block['content']))
    return;
  uses.add('searches', textIn(block, 'tool_use_id') ?? '');
}

const textOf = (value: unknown): string => (typeof value === 'number' ? String(value) : '');

function noteItems(output: unknown, uses: ToolUses): void {
  if (!Array.isArray(output)) return;
  for (const [at, item] of output.entries()) noteItem(item, { place: String(at), told: 'listed' }, uses);
}

/** Pages that a search found, and what is looked for in them, cost nothing (developers.openai.com/api/docs/guides/tools-web-search). */
const FREE_ACTIONS: ReadonlySet<unknown> = new Set(['open_page', 'find_in_page', 'find']);

/** @param place names an item without an id */
function noteItem(
  value: unknown,
  { place, told }: { readonly place: string; readonly told: Told },
  uses: ToolUses,
): void {
  const item = asObject(value);
  const type = textIn(item, 'type');
  if (item === null || type === null) return;
  const name = textIn(item, 'id') ?? place;
  const isOver = (item['status'] ?? 'completed') === 'completed';
  if (type === 'web_search_call' && isOver) {
    const action = objectIn(item, 'action');
    if (!FREE_ACTIONS.has(action?.['type'])) uses.add('searches', name, told);
  } else if (type === 'file_search_call' && isOver) uses.add('fileSearches', name, told);
  // It was started for the first call in it, whatever came of that.
  else if (type === 'code_interpreter_call') uses.add('containers', textIn(item, 'container_id') ?? '', told);
}

/** Chat completions do not say how often a model searched: pages that are cited were found by one search at least. */
const CITED = 'cited';

function citesWeb(choices: unknown): boolean {
  if (!Array.isArray(choices)) return false;
  return choices.some((value) => {
    const choice = asObject(value);
    const { annotations } = objectIn(choice, 'message') ?? objectIn(choice, 'delta') ?? {};
    return (
      Array.isArray(annotations) &&
      annotations.some((one) => textIn(asObject(one), 'type') === 'url_citation')
    );
  });
}

/** Names a search of a map whose query is not stated. */
const UNNAMED = '';

/**
 * Each query counts once, and empty ones do not (ai.google.dev/gemini-api/docs/google-search). Which were asked of the map is not
 * stated: all of them where it alone has been of use; else the map counts as asked once.
 */
function noteGrounding(candidates: unknown, uses: ToolUses): void {
  if (!Array.isArray(candidates)) return;
  for (const candidate of candidates) {
    const grounding = objectIn(asObject(candidate), 'groundingMetadata');
    if (grounding === null) continue;
    const { webSearchQueries, groundingChunks, googleMapsWidgetContextToken } = grounding;
    const chunks = Array.isArray(groundingChunks) ? groundingChunks.map(asObject) : [];
    const isOfMap =
      typeof googleMapsWidgetContextToken === 'string' || chunks.some((one) => one?.['maps'] !== undefined);
    const isOfMapAlone = isOfMap && !chunks.some((one) => one?.['web'] !== undefined);
    const queries = (Array.isArray(webSearchQueries) ? webSearchQueries : []).filter(
      (one) => typeof one === 'string' && one !== '',
    );
    for (const query of queries) uses.add(isOfMapAlone ? 'mapSearches' : 'searches', query);
    if (isOfMap && (!isOfMapAlone || queries.length === 0)) uses.add('mapSearches', UNNAMED);
  }
}
