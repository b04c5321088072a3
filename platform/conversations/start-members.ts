// The members of a start request: what each does, and for whom. What nobody would read is refused when it is sent.
import type { SandboxSpec } from '../../config/snapshot.ts';
import { invalidValue } from '../api/refusal.ts';

/**
 * `interface`: carried out or kept here. `runtime`: the agent server carries it out; in a sandbox that takes no
 * conversations nobody would. `refused`: not done here; the text says what to do instead.
 */
type StartMember =
  { readonly by: 'interface' | 'runtime' } | { readonly by: 'refused'; readonly why: string };

const INTERFACE: StartMember = { by: 'interface' };
const RUNTIME: StartMember = { by: 'runtime' };

/** Of AppConversationStartRequest; docs/platform-conversations.md says the same, and a test walks both. */
export const START_MEMBERS: Readonly<Record<string, StartMember>> = {
  agent_profile_id: INTERFACE,
  agent_type: INTERFACE,
  conversation_id: INTERFACE,
  git_provider: INTERFACE,
  initial_message: RUNTIME,
  llm_model: INTERFACE,
  llm_profile: INTERFACE,
  observability_metadata: RUNTIME,
  observability_span_name: RUNTIME,
  observability_tags: RUNTIME,
  parent_conversation_id: INTERFACE,
  plugins: RUNTIME,
  pr_number: INTERFACE,
  processors: INTERFACE,
  public: INTERFACE,
  sandbox_id: INTERFACE,
  secrets: RUNTIME,
  selected_branch: RUNTIME,
  selected_repository: RUNTIME,
  suggested_task: {
    by: 'refused',
    why: 'no message is made of it here; send what is to be done as initial_message',
  },
  system_message_suffix: RUNTIME,
  tags: INTERFACE,
  title: INTERFACE,
  trigger: INTERFACE,
};

/** As long as an agent server takes (`AgentLaunchAdditions`, `UpdateConversationRequest`). */
const MAX_SUFFIX = 32_768;
const MAX_TITLE = 200;

type Request = Readonly<Record<string, unknown>>;

/**
 * @param spec of the sandbox that it is for; null = none: whoever runs the agent elsewhere reads the request
 * @throws Refusal 422 at the member that would not be honoured
 */
export function refuseUnhonoured(request: Request, spec: SandboxSpec | null): void {
  for (const [name, member] of Object.entries(START_MEMBERS)) {
    if (!isSaid(request[name])) continue;
    if (member.by === 'refused') throw invalidValue(['body', name], member.why);
    if (member.by === 'runtime' && spec !== null && spec.conversationsPath === null)
      throw invalidValue(
        ['body', name],
        `the sandbox spec "${spec.id}" takes no conversations, so nobody would read it; set its conversations_path, or leave this out`,
      );
  }
  if ((request['agent_type'] ?? 'default') !== 'default')
    throw invalidValue(['body', 'agent_type'], 'planning agents are not started here; leave it out');
  refuseLonger(request, 'title', MAX_TITLE);
  refuseLonger(request, 'system_message_suffix', MAX_SUFFIX);
}

function refuseLonger(request: Request, name: string, limit: number): void {
  const value = request[name];
  if (typeof value === 'string' && Array.from(value).length > limit)
    throw invalidValue(['body', name], `the input must have at most ${limit} characters`);
}

/** An empty value asks for nothing. */
function isSaid(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return false;
  return typeof value !== 'object' || Object.keys(value).length > 0;
}
