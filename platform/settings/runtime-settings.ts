// What the settings of a user mean for a conversation that is sent to an agent server: members of its request
// (openhands-agent-server 1.58, StartConversationRequest), of the sandbox's environment, and of the conversation itself.
// V1 is asked first, then V0; see members.ts. Pure.
import { Secret } from '../../config/secret.ts';
import { serversOf } from './mcp-servers.ts';
import type { SpecOutline } from './members.ts';
import { isTree, own } from './secrets.ts';
import type { SettingsV0 } from './v0.ts';
import type { SettingsV1 } from './v1-document.ts';

type Tree = Readonly<Record<string, unknown>>;

export interface RuntimeSettings {
  /** `agent_settings` without `llm`. */
  readonly agent: Tree;
  /** Further members of the request. */
  readonly request: Tree;
  readonly secrets: Readonly<Record<string, Secret>>;
  readonly environment: readonly (readonly [name: string, value: Secret])[];
  /** USD; null = none. */
  readonly maxBudget: number | null;
  /** The sandbox spec that they choose; null = none in particular. */
  readonly specId: string | null;
}

const TAVILY = 'https://mcp.tavily.com/mcp/?tavilyApiKey=';
/** What V1 shows to a user who has set none. */
const DEFAULT_ANALYZER = 'llm';

export function runtimeSettings(
  v0: SettingsV0 | null,
  v1: SettingsV1,
  specs: readonly SpecOutline[],
): RuntimeSettings {
  const old = v0 ?? {};
  /** A top-level member of both. */
  const either = (name: string): unknown => own(v1.top, name) ?? own(old, name) ?? null;
  const budget = either('max_budget_per_task');
  return {
    agent: agentOf(old, v1, textOf(either('search_api_key'))),
    request: {
      ...confirmationOf(old, v1.conversation),
      ...iterationsOf(old, v1.conversation),
      ...placeOf(v1.conversation),
    },
    secrets: secretsOf(own(old, 'secrets_store')),
    environment: [
      ...named(['GIT_AUTHOR_NAME', 'GIT_COMMITTER_NAME'], textOf(either('git_user_name'))),
      ...named(['GIT_AUTHOR_EMAIL', 'GIT_COMMITTER_EMAIL'], textOf(either('git_user_email'))),
    ],
    maxBudget: typeof budget === 'number' ? budget : null,
    specId: specOf(v1.top, old, specs),
  };
}

function agentOf(v0: Tree, v1: SettingsV1, searchKey: string | null): Tree {
  const { llm: _ofTheConversation, ...agent } = v1.agent;
  const mcp = Object.hasOwn(agent, 'mcp_config') ? agent['mcp_config'] : own(v0, 'mcp_config');
  const search =
    searchKey === null ? {} : { tavily: { transport: 'http', url: TAVILY + encodeURIComponent(searchKey) } };
  const servers = { ...search, ...serversOf(mcp) };
  const { mcp_config: _asStored, ...rest } = agent;
  const context = contextOf(v1);
  const named = textOf(own(v0, 'agent'));
  return {
    agent_kind: 'openhands',
    ...(named === null ? {} : { agent: named }),
    ...(own(v0, 'enable_default_condenser') === false ? { condenser: { enabled: false } } : {}),
    ...rest,
    ...(Object.keys(servers).length === 0 ? {} : { mcp_config: servers }),
    ...(Object.keys(context).length === 0 ? {} : { agent_context: context }),
  };
}

/** Skills and marketplaces are members of their own in the settings; those of the agent settings go before them. */
function contextOf({ top, agent }: SettingsV1): Tree {
  const stated = own(agent, 'agent_context');
  const skills = own(top, 'disabled_skills');
  const places = own(top, 'registered_marketplaces');
  return {
    ...(Array.isArray(skills) && skills.length > 0 ? { disabled_skills: skills } : {}),
    ...(Array.isArray(places) && places.length > 0
      ? { registered_marketplaces: places.map(withoutScope) }
      : {}),
    ...(isTree(stated) ? stated : {}),
  };
}

/** The platform derives it for its page; the agent server does not know it. */
function withoutScope(place: unknown): unknown {
  if (!isTree(place)) return place;
  const { scope: _derived, ...rest } = place;
  return rest;
}

/** As the SDK builds both from the same members (`ConversationSettings._build_confirmation_policy`). */
function confirmationOf(v0: Tree, conversation: Tree): Tree {
  const own1 = own(conversation, 'confirmation_mode');
  const mode = own1 ?? own(v0, 'confirmation_mode') ?? false;
  const analyzer = analyzerOf(v0, conversation, own1 === undefined && mode === true);
  const asks = analyzer === 'llm' ? 'ConfirmRisky' : 'AlwaysConfirm';
  return {
    confirmation_policy: { kind: mode === true ? asks : 'NeverConfirm' },
    security_analyzer: analyzer === 'llm' ? { kind: 'LLMSecurityAnalyzer' } : null,
  };
}

/** @param isV0 whether V0 alone turns confirmation on: then its analyzer counts, and none is none */
function analyzerOf(v0: Tree, conversation: Tree, isV0: boolean): unknown {
  if (Object.hasOwn(conversation, 'security_analyzer')) return conversation['security_analyzer'];
  return textOf(own(v0, 'security_analyzer')) ?? (isV0 ? null : DEFAULT_ANALYZER);
}

function iterationsOf(v0: Tree, conversation: Tree): Tree {
  const count = own(conversation, 'max_iterations') ?? own(v0, 'max_iterations');
  return typeof count === 'number' ? { max_iterations: count } : {};
}

/** Where the agent server runs the conversation, in its own words. */
function placeOf(conversation: Tree): Tree {
  const runtime = own(conversation, 'default_runtime');
  if (runtime === 'worktree') {
    const options = renamed(conversation, {
      worktree_base: 'base',
      worktree_base_ref: 'ref',
      worktree_branch_prefix: 'branch_prefix',
    });
    return { worktree: true, ...(Object.keys(options).length === 0 ? {} : { worktree_options: options }) };
  }
  if (runtime !== 'docker') return {};
  const limits = renamed(conversation, {
    container_memory: 'memory',
    container_cpus: 'cpus',
    container_browser: 'browser',
  });
  return {
    conversation_runtime: 'docker',
    ...(Object.keys(limits).length === 0 ? {} : { container: limits }),
  };
}

function renamed(settings: Tree, names: Readonly<Record<string, string>>): Tree {
  const found = Object.entries(names).map(([name, next]) => [next, own(settings, name)] as const);
  return Object.fromEntries(found.filter(([, value]) => value !== undefined && value !== null));
}

/** Tokens of providers by the names that their command-line tools read: GITHUB_TOKEN, GITLAB_TOKEN, ... */
function secretsOf(store: unknown): Readonly<Record<string, Secret>> {
  if (!isTree(store)) return {};
  const texts = (list: string, name: (key: string) => string): (readonly [string, Secret])[] => {
    const values = own(store, list);
    return Object.entries(isTree(values) ? values : {}).flatMap(([key, value]) =>
      typeof value === 'string' && value !== '' ? [[name(key), new Secret(value)] as const] : [],
    );
  };
  return Object.fromEntries([
    ...texts('provider_tokens', (key) => `${key.toUpperCase()}_TOKEN`),
    ...texts('custom_secrets', (key) => key),
  ]);
}

function specOf(top: Tree, v0: Tree, specs: readonly SpecOutline[]): string | null {
  const id = textOf(own(top, 'default_sandbox_spec_id'));
  if (id !== null) return id;
  for (const settings of [top, v0])
    for (const name of ['sandbox_runtime_container_image', 'sandbox_base_container_image']) {
      const image = textOf(own(settings, name));
      if (image !== null) return specs.find((spec) => spec.image === image)?.id ?? null;
    }
  return null;
}

const named = (names: readonly string[], value: string | null): (readonly [string, Secret])[] =>
  value === null ? [] : names.map((name) => [name, new Secret(value)] as const);

const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);
