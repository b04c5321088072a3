// Agent profiles: named ways to run an agent (LLM profile, tools, MCP servers), one of them active. They hold references
// and no secrets. A conversation that is started with one keeps what it said then.
import { randomUUID } from 'node:crypto';
import type { Schema } from '../api/description.ts';
import { invalidValue, refuse } from '../api/refusal.ts';
import type { Handler } from '../api/router.ts';
import type { Check } from '../api/validation.ts';
import { isTree, own } from '../settings/secrets.ts';
import { defaultsOf } from '../settings/v1.ts';
import { NO_SETTINGS, type SettingsV1 } from '../settings/v1-document.ts';
import type { Documents } from '../store/documents.ts';

type Tree = Readonly<Record<string, unknown>>;

/** As it is stored: every member of the schema that was sent, `id`, `name` and `revision` included. */
interface AgentProfile {
  readonly id: string;
  readonly name: string;
  readonly revision: number;
  readonly llm_profile_ref: string;
  readonly mcp_server_refs?: readonly string[] | null;
  readonly disabled_skills?: readonly string[];
  readonly [name: string]: unknown;
}

/** What is stored for one user. */
export interface AgentProfileSet {
  readonly profiles: readonly AgentProfile[];
  /** Id; null = none. */
  readonly active: string | null;
}

interface AgentProfileParts {
  readonly documents: Documents<AgentProfileSet>;
  readonly settings: Documents<SettingsV1>;
  /** `OpenHandsAgentProfile`, and its check. */
  readonly schema: Schema;
  readonly check: Check;
}

/** As many as LLM profiles. */
const MAX_PROFILES = 50;
const NONE: AgentProfileSet = { profiles: [], active: null };

/** The handlers, by operation id. */
export function agentProfiles(parts: AgentProfileParts): Record<string, Handler> {
  const { documents } = parts;
  const read = async (userId: string): Promise<AgentProfileSet> => (await documents.read(userId)) ?? NONE;
  return {
    listAgentProfiles: async ({ userId }) => {
      const { profiles, active } = await read(userId);
      const list = profiles.map(({ id, name, revision, llm_profile_ref: ref, mcp_server_refs: servers }) => ({
        id,
        name,
        agent_kind: 'openhands',
        revision,
        llm_profile_ref: ref,
        mcp_server_refs: servers ?? null,
      }));
      return { body: { profiles: list, active_agent_profile_id: active } };
    },
    getAgentProfile: async ({ userId, path }) => {
      const profile = named(await read(userId), nameIn(path));
      return { body: { name: profile.name, profile: { ...defaultsOf(parts.schema), ...profile } } };
    },
    saveAgentProfile: async ({ userId, path, body }) => {
      const name = nameIn(path);
      const sent = checked(parts, name, body);
      await documents.change(userId, (old) => ({ next: saved(old ?? NONE, name, sent), result: null }));
      return { status: 201, body: { name, message: `Agent profile '${name}' saved` } };
    },
    deleteAgentProfile: async ({ userId, path }) => {
      const name = nameIn(path);
      await documents.change(userId, (old) => ({ next: old && without(old, name), result: null }));
      return { body: { name, message: `Agent profile '${name}' deleted` } };
    },
    renameAgentProfile: async ({ userId, path, body }) => {
      const name = nameIn(path);
      const { new_name: next } = body as { readonly new_name: string };
      await documents.change(userId, (old) => ({ next: renamed(old ?? NONE, name, next), result: null }));
      return { body: { name: next, message: `Agent profile '${name}' renamed to '${next}'` } };
    },
    activateAgentProfile: async ({ userId, path }) => {
      const id = path['profile_id'] ?? '';
      await documents.change(userId, (old) => {
        demandId(old ?? NONE, id);
        return { next: { ...(old ?? NONE), active: id }, result: null };
      });
      return {
        body: { id, message: `Agent profile '${id}' activated`, agent_settings_applied: false },
      };
    },
    materializeAgentProfile: async ({ userId, path }) => {
      const profile = named(await read(userId), nameIn(path));
      return { body: diagnosed(profile, (await parts.settings.read(userId)) ?? NO_SETTINGS) };
    },
  };
}

const nameIn = (path: Readonly<Record<string, string>>): string => path['name'] ?? '';

/** @throws Refusal 404 */
function named({ profiles }: AgentProfileSet, name: string): AgentProfile {
  const found = profiles.find((one) => one.name === name);
  if (found === undefined) throw refuse(404, `Agent profile '${name}' not found`);
  return found;
}

/** @throws Refusal 404 */
export function demandId({ profiles }: AgentProfileSet, id: string): AgentProfile {
  const found = profiles.find((one) => one.id === id);
  if (found === undefined) throw refuse(404, `Agent profile with id '${id}' not found`);
  return found;
}

/** What was sent, without what the server gives out itself. @throws Refusal 422 */
function checked({ check }: AgentProfileParts, name: string, body: unknown): Tree {
  const { id: _given, revision: _counted, ...sent } = body as Tree;
  if (sent['agent_kind'] === 'acp')
    throw invalidValue(
      ['body', 'agent_kind'],
      'agents of the kind acp bring an LLM account of their own; their calls would not be attributed, so they are not served',
    );
  check({ ...sent, name }, 'body');
  return sent;
}

function saved(old: AgentProfileSet, name: string, sent: Tree): AgentProfileSet {
  const before = old.profiles.find((one) => one.name === name);
  if (before === undefined && old.profiles.length >= MAX_PROFILES)
    throw refuse(
      409,
      `Agent profile limit reached (${MAX_PROFILES}). Delete a profile before saving a new one.`,
    );
  const next: AgentProfile = {
    ...sent,
    llm_profile_ref: sent['llm_profile_ref'] as string, // required by the schema
    id: before?.id ?? randomUUID(),
    name,
    revision: before === undefined ? 0 : before.revision + 1,
  };
  const profiles =
    before === undefined ? [...old.profiles, next] : old.profiles.map((one) => (one === before ? next : one));
  return { ...old, profiles };
}

function without(old: AgentProfileSet, name: string): AgentProfileSet {
  const gone = old.profiles.find((one) => one.name === name);
  return {
    profiles: old.profiles.filter((one) => one !== gone),
    active: old.active === gone?.id ? null : old.active,
  };
}

function renamed(old: AgentProfileSet, name: string, next: string): AgentProfileSet {
  const profile = named(old, name);
  if (name === next) return old;
  if (old.profiles.some((one) => one.name === next))
    throw refuse(409, `Agent profile '${next}' already exists`);
  return { ...old, profiles: old.profiles.map((one) => (one === profile ? { ...one, name: next } : one)) };
}

/** What a conversation with this profile would get; references that lead nowhere are named, not refused. */
function diagnosed(profile: AgentProfile, { profiles, agent }: SettingsV1): Tree {
  const { llm_profile_ref: ref, mcp_server_refs: refs = null } = profile;
  const isResolved = isTree(own(profiles, ref));
  const servers = mcpServers(agent);
  const wanted = refs ?? servers;
  const dangling = wanted.filter((name) => !servers.includes(name));
  const errors = [
    ...(isResolved ? [] : [`LLM profile '${ref}' not found`]),
    ...(dangling.length === 0 ? [] : [`MCP server(s) not configured: ${dangling.join(', ')}`]),
  ];
  const resolved = wanted.filter((name) => servers.includes(name));
  return {
    agent_kind: 'openhands',
    valid: errors.length === 0,
    errors,
    llm_profile_ref: ref,
    llm_profile_resolved: isResolved,
    llm_api_key_set: isResolved, // the proxy gives each conversation one
    mcp_server_refs: refs,
    resolved_mcp_config_keys: resolved,
    resolved_mcp_servers: resolved,
    dangling_mcp_server_refs: dangling,
    disabled_skills: profile.disabled_skills ?? [],
    resolved_skills: [],
    acp_api_key_secret_name: null,
    acp_base_url_secret_name: null,
    acp_file_secret_names: [],
    resolved_settings: null,
  };
}

/** Names of the MCP servers in agent settings. */
function mcpServers(agent: Tree): readonly string[] {
  const config = own(agent, 'mcp_config');
  if (!isTree(config)) return [];
  const inner = own(config, 'mcpServers');
  return Object.keys(isTree(inner) ? inner : config);
}
