// How a diff changes the agent settings and the conversation settings (RFC 7386), and the checks of what comes out.
import { invalidValue } from '../api/refusal.ts';
import type { AgentChecks } from './agent-schema.ts';
import { checkHeaders } from './headers.ts';
import { changedMcp, checkServers, inFormOf, serversOf } from './mcp-servers.ts';
import { mergePatch } from './merge-patch.ts';
import { isTree, own, unmasked } from './secrets.ts';

type Tree = Readonly<Record<string, unknown>>;

const AGENT = ['body', 'agent_settings_diff'] as const;
const CONVERSATION = ['body', 'conversation_settings_diff'] as const;

/** @throws Refusal 422 for MCP servers that are no object */
export function patchedAgent(old: Tree, sent: Tree): Tree {
  const { mcpServers, ...diff } = sent;
  const base = hasOtherKind(old, diff) ? {} : old;
  const mcp = mcpServers === undefined ? own(diff, 'mcp_config') : { mcpServers };
  const { mcp_config: _apart, ...rest } = diff;
  const next = mergePatch(base, unmasked(rest, base));
  if (mcp === undefined) return next;
  const before = own(base, 'mcp_config');
  const changed = changedMcp(before, unmasked(mcp, inFormOf(mcp, before)), [...AGENT, 'mcp_config']);
  const { mcp_config: _old, ...others } = next;
  return changed === undefined ? others : { ...others, mcp_config: changed };
}

/** A null stands for "no analyzer", which is another thing than the default. */
export function patchedConversation(old: Tree, diff: Tree): Tree {
  const next = mergePatch(old, diff);
  return own(diff, 'security_analyzer') === null ? { ...next, security_analyzer: null } : next;
}

/** @throws Refusal 422 with the place of each error */
export function checkAgent(agent: Tree, checks: AgentChecks): void {
  const kind = own(agent, 'agent_kind');
  const mcp = own(agent, 'mcp_config');
  const servers = serversOf(mcp);
  const settings = {
    ...agent,
    // The old name of the same kind.
    ...(kind === 'llm' ? { agent_kind: 'openhands' } : {}),
    ...(mcp === undefined ? {} : { mcp_config: servers }),
  };
  (kind === 'acp' ? checks.acp : checks.openhands)({ agent_settings_diff: settings }, 'body');
  checkServers(servers, [...AGENT, 'mcp_config']);
  const llm = own(agent, 'llm');
  if (isTree(llm)) checkHeaders(own(llm, 'extra_headers'), [...AGENT, 'llm', 'extra_headers']);
}

/** @throws Refusal 422 with the place of each error */
export function checkConversation(conversation: Tree, checks: AgentChecks): void {
  checks.conversation({ conversation_settings_diff: conversation }, 'body');
  const needsRef = own(conversation, 'worktree_base') === 'ref';
  if (needsRef && typeof own(conversation, 'worktree_base_ref') !== 'string')
    throw invalidValue([...CONVERSATION, 'worktree_base_ref'], 'worktree_base ref needs the name of one');
}

/** Settings of one kind of agent say nothing of another kind: the SDK begins anew, too (`apply_agent_settings_diff`). */
function hasOtherKind(old: Tree, diff: Tree): boolean {
  const next = own(diff, 'agent_kind');
  return typeof next === 'string' && kindOf(next) !== kindOf(own(old, 'agent_kind'));
}

const kindOf = (kind: unknown): unknown => (kind === undefined || kind === 'llm' ? 'openhands' : kind);
