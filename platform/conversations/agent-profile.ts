// What an agent profile says of a conversation that is started with it: its LLM profile, and members of the agent
// settings that take the place of those of the user's settings (openhands-sdk 1.58, resolve_agent_profile). Pure.
import { invalidValue } from '../api/refusal.ts';
import type { AgentProfile } from '../page/agent-profiles.ts';
import type { RuntimeSettings } from '../settings/runtime-settings.ts';
import { isTree, own } from '../settings/secrets.ts';

/** The agent settings know them by the same name. */
const SAME = ['agent', 'tools', 'condenser', 'verification', 'tool_concurrency_limit'] as const;

/** @throws Refusal 422 for MCP servers that the settings do not have */
export function withAgentProfile(settings: RuntimeSettings, profile: AgentProfile): RuntimeSettings {
  const same = SAME.filter((name) => profile[name] !== undefined && profile[name] !== null);
  const { mcp_config: _all, agent_context: context, ...rest } = settings.agent;
  const servers = serversOf(settings, profile);
  const suffix = profile['system_message_suffix'];
  const nextContext = {
    ...(isTree(context) ? context : {}),
    ...(typeof suffix === 'string' && suffix !== '' ? { system_message_suffix: suffix } : {}),
    ...(profile.disabled_skills === undefined ? {} : { disabled_skills: profile.disabled_skills }),
  };
  return {
    ...settings,
    agent: {
      ...rest,
      ...Object.fromEntries(same.map((name) => [name, profile[name]])),
      ...(Object.keys(servers).length === 0 ? {} : { mcp_config: servers }),
      ...(Object.keys(nextContext).length === 0 ? {} : { agent_context: nextContext }),
    },
  };
}

function serversOf({ agent }: RuntimeSettings, { name, mcp_server_refs: refs }: AgentProfile): object {
  const config = own(agent, 'mcp_config');
  const all = isTree(config) ? config : {};
  if (refs === undefined || refs === null) return all;
  const missing = refs.filter((ref) => !Object.hasOwn(all, ref));
  if (missing.length > 0)
    throw invalidValue(
      ['body', 'agent_profile_id'],
      `the agent profile '${name}' names MCP servers that the settings do not have: ${missing.join(', ')}`,
    );
  return Object.fromEntries(refs.map((ref) => [ref, all[ref]]));
}
