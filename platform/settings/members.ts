// What becomes of each member of the settings, V0 and V1, in a conversation that this server sends to an agent server:
// handed over, kept for web pages, or refused. Where this server starts no sandbox, nothing is refused: who runs the
// agent reads the settings. docs/platform-settings.md shows this table; a test walks it.
import type { SandboxSpec } from '../../config/snapshot.ts';
import { isWebSocket, serversOf } from './mcp-servers.ts';
import { isTree, own } from './secrets.ts';

export type SpecOutline = Pick<SandboxSpec, 'id' | 'image'>;

interface Rule {
  /** @param specs at least one */
  readonly fits: (value: unknown, specs: readonly SpecOutline[]) => boolean;
  readonly sentence: string;
}

type Way = 'handed over' | 'kept' | 'refused';

interface SettingsMember {
  /** `conversation_settings.X` and `agent_settings.X` are members of V1's two diffs. */
  readonly name: string;
  readonly versions: readonly ('V0' | 'V1')[];
  readonly way: Way;
  /** Where it goes, or why it is kept; '' where every value but the empty one is refused. */
  readonly to: string;
  readonly rule?: Rule;
}

const BOTH = ['V0', 'V1'] as const;
const V0 = ['V0'] as const;
const V1 = ['V1'] as const;

const isUnset = (value: unknown): boolean => value === null || value === undefined || value === '';
const oneOf =
  (...accepted: readonly unknown[]): Rule['fits'] =>
  (value) =>
    isUnset(value) || accepted.includes(value);

/** It becomes a variable of an environment. */
const ONE_LINE: Rule = {
  fits: (value) => isUnset(value) || !/\p{Cc}/u.test(String(value)),
  sentence: 'it must be one line without control characters',
};

const IMAGE: Rule = {
  fits: (value, specs) => isUnset(value) || specs.some(({ image }) => image === value),
  sentence: 'no sandbox spec of this server runs this image; ask the operator for one, or leave it out',
};

const page = (name: string, versions: SettingsMember['versions']): SettingsMember => ({
  name,
  versions,
  way: 'kept',
  to: 'for web pages',
});

const conversationMember = (name: string, to: string): SettingsMember => ({
  name: `conversation_settings.${name}`,
  versions: V1,
  way: 'handed over',
  to,
});

export const SETTINGS_MEMBERS: readonly SettingsMember[] = [
  {
    name: 'agent',
    versions: V0,
    way: 'handed over',
    to: '`agent_settings.agent`',
    rule: {
      fits: oneOf('CodeActAgent'),
      sentence: 'the agent server has one agent, CodeActAgent; leave it out or name that one',
    },
  },
  {
    name: 'max_iterations',
    versions: V0,
    way: 'handed over',
    to: '`max_iterations`',
    rule: { fits: (value) => isUnset(value) || Number(value) >= 1, sentence: 'it must be at least 1' },
  },
  {
    name: 'confirmation_mode',
    versions: V0,
    way: 'handed over',
    to: '`confirmation_policy`: `AlwaysConfirm`, with the analyzer `llm` `ConfirmRisky`; false: `NeverConfirm`',
  },
  {
    name: 'security_analyzer',
    versions: V0,
    way: 'handed over',
    to: '`security_analyzer`: `LLMSecurityAnalyzer` or none',
    rule: {
      fits: oneOf('llm', 'none'),
      sentence: 'the agent server has the analyzer `llm`; name that one, `none`, or leave it out',
    },
  },
  {
    name: 'llm_model',
    versions: V0,
    way: 'handed over',
    to: '`agent_settings.llm.model`, where V1 names none',
  },
  {
    name: 'llm_api_key',
    versions: V0,
    way: 'kept',
    to: 'calls go to this proxy, with a key of the conversation',
  },
  { name: 'llm_base_url', versions: V0, way: 'kept', to: 'calls go to this proxy' },
  {
    name: 'secrets_store',
    versions: V0,
    way: 'handed over',
    to: '`secrets`; a token of a provider by the name `GITHUB_TOKEN`, ...',
  },
  {
    name: 'enable_default_condenser',
    versions: V0,
    way: 'handed over',
    to: '`agent_settings.condenser.enabled`',
  },
  {
    name: 'mcp_config',
    versions: V0,
    way: 'handed over',
    to: '`agent_settings.mcp_config`: all three lists as one map; `sse`, `shttp`, `shttp_1`, ... where there is no name',
    rule: {
      fits: (value) =>
        Object.values(serversOf(value)).every(({ url }) => typeof url !== 'string' || !isWebSocket(url)),
      sentence: 'the agent server reaches MCP servers by http or https, not by WebSocket',
    },
  },
  {
    name: 'search_api_key',
    versions: BOTH,
    way: 'handed over',
    to: '`agent_settings.mcp_config.tavily`: the MCP server of Tavily with this key',
  },
  {
    name: 'max_budget_per_task',
    versions: BOTH,
    way: 'handed over',
    to: "`metrics.max_budget_per_task` of the conversation; the agent server's request has no such member",
    rule: { fits: (value) => isUnset(value) || Number(value) > 0, sentence: 'a budget is more than 0' },
  },
  {
    name: 'git_user_name',
    versions: BOTH,
    way: 'handed over',
    to: '`GIT_AUTHOR_NAME` and `GIT_COMMITTER_NAME` in the sandbox that is started for the conversation',
    rule: ONE_LINE,
  },
  {
    name: 'git_user_email',
    versions: BOTH,
    way: 'handed over',
    to: '`GIT_AUTHOR_EMAIL` and `GIT_COMMITTER_EMAIL`, likewise',
    rule: ONE_LINE,
  },
  {
    name: 'sandbox_base_container_image',
    versions: BOTH,
    way: 'handed over',
    to: 'chooses the sandbox spec with this image',
    rule: IMAGE,
  },
  {
    name: 'sandbox_runtime_container_image',
    versions: BOTH,
    way: 'handed over',
    to: 'the same, and goes before it',
    rule: IMAGE,
  },
  {
    name: 'sandbox_api_key',
    versions: BOTH,
    way: 'refused',
    to: '',
    rule: {
      fits: isUnset,
      sentence: 'sandboxes run on this server and need no key of a runtime service; leave it out',
    },
  },
  {
    name: 'remote_runtime_resource_factor',
    versions: BOTH,
    way: 'refused',
    to: '',
    rule: {
      fits: oneOf(1),
      sentence:
        'the operator sets the limits of sandboxes; leave it out, set it to 1, or choose another sandbox spec',
    },
  },
  {
    name: 'default_sandbox_spec_id',
    versions: V1,
    way: 'handed over',
    to: 'chooses the sandbox spec, before any image',
    rule: {
      fits: (value, specs) => isUnset(value) || specs.some(({ id }) => id === value),
      sentence: 'this server has no sandbox spec of this id; GET /api/v1/sandbox-specs/search lists them',
    },
  },
  {
    name: 'sandbox_grouping_strategy',
    versions: V1,
    way: 'refused',
    to: '',
    rule: {
      fits: oneOf('NO_GROUPING'),
      sentence:
        'each conversation gets a sandbox of its own, or the one that its start names by `sandbox_id`',
    },
  },
  {
    name: 'title_llm_profile',
    versions: V1,
    way: 'refused',
    to: '',
    rule: { fits: isUnset, sentence: "titles are made with the conversation's own model; leave it out" },
  },
  {
    name: 'git_full_clone',
    versions: V1,
    way: 'kept',
    to: 'a selected repository is cloned in full either way',
  },
  {
    name: 'disabled_skills',
    versions: V1,
    way: 'handed over',
    to: '`agent_settings.agent_context.disabled_skills`',
  },
  {
    name: 'registered_marketplaces',
    versions: V1,
    way: 'handed over',
    to: '`agent_settings.agent_context.registered_marketplaces`',
  },
  {
    name: 'agent_settings',
    versions: V1,
    way: 'handed over',
    to: "`agent_settings`, with the LLM of the conversation in it; `mcpServers` and V0's lists as one map",
    rule: {
      fits: (value) => !isTree(value) || own(value, 'agent_kind') !== 'acp',
      sentence: 'an ACP agent calls its provider by itself, past this proxy; use agent_kind openhands',
    },
  },
  conversationMember('max_iterations', '`max_iterations`'),
  conversationMember('confirmation_mode', '`confirmation_policy`'),
  conversationMember('security_analyzer', '`security_analyzer`; left out: `llm`'),
  conversationMember('default_runtime', '`worktree` or `conversation_runtime`'),
  conversationMember('worktree_base', '`worktree_options.base`'),
  conversationMember('worktree_base_ref', '`worktree_options.ref`'),
  conversationMember('worktree_branch_prefix', '`worktree_options.branch_prefix`'),
  conversationMember('container_memory', '`container.memory`'),
  conversationMember('container_cpus', '`container.cpus`'),
  conversationMember('container_browser', '`container.browser`'),
  { ...page('conversation_settings.schema_version', V1), to: 'names the form of the others' },
  page('language', BOTH),
  page('enable_sound_notifications', BOTH),
  page('enable_proactive_conversation_starters', BOTH),
  page('enable_solvability_analysis', V0),
  page('user_consents_to_analytics', BOTH),
  page('email', BOTH),
  page('email_verified', V0),
  page('v1_enabled', V1),
  page('active_agent_profile_id', V1),
  page('active_agent_profile_revision', V1),
];

interface Refused {
  readonly name: string;
  readonly sentence: string;
}

/** The first member that this server cannot honour. @param settings by member; `agent_settings` as it would be stored */
export function refusedMember(
  version: 'V0' | 'V1',
  settings: Readonly<Record<string, unknown>>,
  specs: readonly SpecOutline[],
): Refused | null {
  if (specs.length === 0) return null;
  for (const { name, versions, rule } of SETTINGS_MEMBERS) {
    if (rule === undefined || !versions.includes(version) || rule.fits(own(settings, name), specs)) continue;
    return { name, sentence: rule.sentence };
  }
  return null;
}
