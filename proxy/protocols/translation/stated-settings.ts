// The settings that an entry states for its deployment, in the words of the protocol that a call goes in. Entries spell them as
// chat completions do, so a protocol of another vendor gets what a call of chat completions with these settings would be
// translated to: one set of rules for what a setting becomes. What a protocol or a model does not take is left out: the client
// has not asked for it, and could not mend it.
import { SETTINGS, SETTINGS_OF } from '../../../config/stated-members.ts';
import { asObject, type Json } from '../../bodies/json.ts';
import { Fault } from '../../errors/fault.ts';
import type { Protocol } from '../protocol.ts';
import { chatDialect } from './chat/dialect.ts';
import type { Dialect } from './dialect.ts';
import { geminiDialect } from './gemini/dialect.ts';
import { Losses } from './losses.ts';
import { clashing } from './messages/clashes.ts';
import { messagesDialect } from './messages/dialect.ts';
import { LEAST_BUDGET } from './messages/thinking.ts';
import { isGemini, isOpenAi, isOpenAiReasoning } from './models.ts';
import { responsesDialect } from './responses/dialect.ts';
import { ToolNames } from './tool-names.ts';

/** How a protocol that spells settings in its own way gets them. */
interface Wording {
  readonly dialect: Dialect;
  /** The members that settings become. */
  readonly members: readonly string[];
  /** Settings that it spells as chat completions do, and that no translation carries. */
  readonly alike: readonly string[];
  /** Names of those that a call would be refused for beside what its client says; absent: none. */
  readonly clashing?: (settings: Json, said: (member: string) => unknown) => readonly string[];
}

const WORDINGS: ReadonlyMap<string, Wording> = new Map([
  [
    'messages',
    {
      dialect: messagesDialect,
      members: ['temperature', 'top_p', 'stop_sequences', 'output_config', 'thinking'],
      alike: ['thinking'],
      clashing,
    },
  ],
  [
    'responses',
    {
      dialect: responsesDialect,
      members: ['max_output_tokens', 'temperature', 'top_p', 'text', 'reasoning'],
      alike: ['parallel_tool_calls', 'safety_identifier', 'service_tier', 'top_logprobs'],
    },
  ],
  ['gemini', { dialect: geminiDialect, members: ['generationConfig'], alike: [] }],
]);

/** Every member of a request that a setting may become, or that says the same, in any protocol. */
export const SETTING_MEMBERS: readonly string[] = [
  ...new Set([
    ...SETTINGS,
    ...[...WORDINGS.values()].flatMap(({ members }) => members),
    'generation_config',
    'max_tokens',
    'reasoning',
    'top_k',
  ]),
];

const LIMITS = ['max_completion_tokens', 'max_tokens'] as const;

/** The longest answer that an entry states; null = none. */
export function statedLimit(settings: Json): number | null {
  const limits = LIMITS.map((name) => settings[name]).filter((one) => typeof one === 'number');
  const most = Math.max(0, ...limits);
  return most === 0 ? null : most;
}

/**
 * The members of a request of `protocol` that `settings` come to.
 * @param most tokens of the answer that the client asks for, below which an older Claude thinks; null = it does not say
 */
export function settingsIn(protocol: Protocol, settings: Json, model: string, most: number | null): Json {
  const own = only(settings, SETTINGS_OF.get(protocol.name) ?? []);
  const wording = WORDINGS.get(protocol.name);
  if (wording === undefined) return protocol.name === chatDialect.name ? inChat(own, model) : own;
  const { dialect, members, alike } = wording;
  const limit = statedLimit(own);
  const plain =
    most === null || protocol.limitsThoughts !== true ? own : { ...without(own, LIMITS), max_tokens: most };
  const carried = carriedSettings(
    dialect,
    without(
      plain,
      alike.filter((name) => name !== 'thinking'),
    ),
    model,
  );
  const written = only(write(dialect, carried, model), members);
  const said = { ...written, ...only(own, alike) };
  if (dialect !== messagesDialect) return said;
  // Its own word for it goes as it is written, but for a budget that the answer has no room for.
  const thought =
    own['thinking'] === undefined
      ? said
      : withThoughtsBelow(withoutPath(said, 'output_config.effort'), most ?? limit);
  return limit === null ? thought : { max_tokens: limit, ...thought };
}

function withThoughtsBelow(said: Json, limit: number | null): Json {
  const thinking = asObject(said['thinking']);
  const budget = thinking?.['budget_tokens'];
  if (limit === null || typeof budget !== 'number' || budget < limit) return said;
  return limit > LEAST_BUDGET
    ? { ...said, thinking: { ...thinking, budget_tokens: limit - 1 } }
    : without(said, ['thinking']);
}

/** OpenAI refuses `thinking`, which other servers of chat completions take, and `max_tokens` where a model thinks. */
function inChat(settings: Json, model: string): Json {
  if (!isOpenAi(model)) return settings;
  const { thinking, ...known } = settings;
  if (!isOpenAiReasoning(model)) return known;
  const { max_tokens: limit, ...others } = known;
  const thought = thinking === undefined ? {} : carriedSettings(chatDialect, { thinking }, model);
  const effort = only(write(chatDialect, thought, model), ['reasoning_effort']);
  return { ...effort, ...(limit === undefined ? {} : { max_completion_tokens: limit }), ...others };
}

/** What a client states. */
export interface Client {
  /** Whether it states a member; dotted, one in an object. */
  readonly states: (path: string) => boolean;
  /** The value of a member. */
  readonly said: (member: string) => unknown;
}

/** Without those that say what the client says in other words, and those that it could not have beside what it says. */
export function leftOpen(protocol: Protocol, settings: Json, { states, said }: Client): Json {
  const open = withoutAlternatives(protocol, settings, states);
  return without(open, WORDINGS.get(protocol.name)?.clashing?.(open, said) ?? []);
}

function withoutAlternatives(
  { alternatives = [] }: Protocol,
  settings: Json,
  states: Client['states'],
): Json {
  const taken = alternatives.filter((group) => group.some(states)).flat();
  return taken.reduce(withoutPath, settings);
}

function withoutPath(settings: Json, path: string): Json {
  const [first = path, second] = path.split('.');
  if (second === undefined) return without(settings, [first]);
  const inner = asObject(settings[first]);
  if (inner === null) return settings;
  const kept = without(inner, [second]);
  return Object.keys(kept).length === 0 ? without(settings, [first]) : { ...settings, [first]: kept };
}

/** A request of chat completions that is about to be translated, with the settings that it leaves open and its upstream takes. */
export function withSettings(
  from: Protocol,
  to: Protocol,
  request: Json,
  settings: Json,
  model: string,
): Json {
  const dialect = WORDINGS.get(to.name)?.dialect;
  if (dialect === undefined) return request;
  const open = withoutAlternatives(from, settings, (name) => request[name] !== undefined);
  // A translation writes no top_p of 1, which says nothing. What clashes with thoughts, it leaves out itself.
  const taken = withoutAlternatives(to, open, (name) => (request[name] ?? 1) !== 1);
  return { ...carriedSettings(dialect, taken, model), ...request };
}

/** Those that no translation carries, and that are added to what it makes. @param request as its client sent it */
export function settingsBeyond(to: Protocol, request: Json, settings: Json): Json {
  const { alike = [] } = WORDINGS.get(to.name) ?? {};
  return only(
    settings,
    alike.filter((name) => name !== 'thinking' && request[name] === undefined),
  );
}

/** Whether settings are put into a call before it is translated: where the caller speaks as entries do. */
export const speaksAsEntries = ({ name }: Protocol): boolean => name === chatDialect.name;

/** Those that a call may state without being refused. */
function carriedSettings(dialect: Dialect, settings: Json, model: string): Json {
  const isCarried = ([name, value]: [string, unknown]): boolean => {
    try {
      return !droppedBy(dialect, { [name]: value }, model).includes(name);
    } catch (thrown) {
      if (thrown instanceof Fault) return false;
      throw thrown;
    }
  };
  return Object.fromEntries(Object.entries(settings).filter(isCarried));
}

/** Longer than any budget of thoughts. */
const LONG_ANSWER = 1_000_000;

/** @throws Fault of what cannot be carried */
function droppedBy(dialect: Dialect, settings: Json, model: string): readonly string[] {
  const losses = new Losses({ dropParams: false, isForGoogle: isForGoogle(dialect, model) });
  writeWith(dialect, settings, model, losses);
  return losses.dropped;
}

function write(dialect: Dialect, settings: Json, model: string): Json {
  return writeWith(
    dialect,
    settings,
    model,
    new Losses({ dropParams: true, isForGoogle: isForGoogle(dialect, model) }),
  );
}

function writeWith(dialect: Dialect, settings: Json, model: string, losses: Losses): Json {
  const request = { messages: [{ role: 'user', content: 'Hello' }], ...settings };
  const conversation = chatDialect.readRequest(request, losses);
  const names = new ToolNames(conversation.tools, dialect.hasCustomTools);
  const target = { model, stream: false, defaultMaxTokens: LONG_ANSWER, sessionId: null, losses, names };
  return dialect.writeRequest(conversation, target);
}

const isForGoogle = (dialect: Dialect, model: string): boolean =>
  dialect === geminiDialect || isGemini(model);

const only = (json: Json, names: readonly string[]): Json =>
  Object.fromEntries(Object.entries(json).filter(([name]) => names.includes(name)));
const without = (json: Json, names: readonly string[]): Json =>
  Object.fromEntries(Object.entries(json).filter(([name]) => !names.includes(name)));
