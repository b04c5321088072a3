// The organization of a user, as web pages ask for it: there is one, it is the user's own, and the user is its owner. Ids
// are made of the user id, so that they are the same on every server and after every restart.
import { createHash } from 'node:crypto';
import { pageRequestOf } from '../api/pages.ts';
import { refuse, Refusal } from '../api/refusal.ts';
import { jsonOf, type Handler } from '../api/router.ts';
import { dashed } from '../ids.ts';

/** Shown where the configuration names no users. */
const ONLY_USER = 'user';
/** Git providers are not served; the names for commits are settings. */
const NO_GIT_USER = 'none';
/** What an owner may do on the platform and is served here; web pages show and hide parts of themselves by them. */
const PERMISSIONS = [
  'manage_secrets',
  'manage_mcp',
  'manage_application_settings',
  'view_llm_settings',
  'edit_llm_settings',
  'view_org_settings',
  'edit_org_settings',
];

type Settings = Readonly<Record<string, unknown>>;

/** The settings of a user, as they are shown to them. */
type Shown = (userId: string) => Promise<Settings>;

/** The organization's id: a UUID (RFC 9562, version 8) of the user id. */
function organizationId(userId: string): string {
  const hex = createHash('sha256').update(`throughline organization\n${userId}`).digest('hex');
  return dashed(`${hex.slice(0, 12)}8${hex.slice(13, 16)}a${hex.slice(17, 32)}`);
}

/**
 * The handlers, by operation id.
 * @param settings those of the settings of V1, by operation id
 * @param conversation the conversation settings of who has stored none
 */
export function organizationApi(
  settings: Readonly<Record<string, Handler>>,
  conversation: Settings,
): Record<string, Handler> {
  const shown: Shown = async (userId) => {
    try {
      const call = { userId, sandboxId: null, path: {}, query: {}, body: undefined, mustBeNew: false };
      return settings['loadSettings'] === undefined
        ? {}
        : (jsonOf(await settings['loadSettings'](call)) as Settings);
    } catch (error) {
      if (error instanceof Refusal && error.status === 404)
        return { agent_settings: {}, conversation_settings: conversation };
      throw error;
    }
  };
  return { ...organizations(shown), ...members(shown), ...users(shown) };
}

/** The one organization. */
function organizations(shown: Shown): Record<string, Handler> {
  return {
    listOrganizations: async ({ userId, query }) => {
      const { offset } = pageRequestOf(query);
      const organization = organizationInfo(userId, await shown(userId));
      return {
        body: {
          items: offset === 0 ? [organization] : [],
          next_page_id: null,
          current_org_id: organizationId(userId),
        },
      };
    },
    getOrganization: async ({ userId, path }) => {
      demandOwn(userId, path);
      return { body: organizationInfo(userId, await shown(userId)) };
    },
    listProviderConnections: ({ userId, path }) => {
      demandOwn(userId, path);
      return { body: { connections: [] } };
    },
  };
}

/** Its one member. */
function members(shown: Shown): Record<string, Handler> {
  return {
    getMembership: async ({ userId, path }) => {
      demandOwn(userId, path);
      const { agent_settings: agent, conversation_settings: conversation, email } = await shown(userId);
      return {
        body: {
          org_id: organizationId(userId),
          // The platform's sign of a personal organization: it has the id of its user.
          user_id: organizationId(userId),
          email: typeof email === 'string' ? email : '',
          role: 'owner',
          permissions: PERMISSIONS,
          llm_api_key: '',
          llm_api_key_for_byor: null,
          agent_settings_diff: agent,
          conversation_settings_diff: conversation,
          status: 'active',
        },
      };
    },
    listMembers: async ({ userId, path, query }) => {
      demandOwn(userId, path);
      const cut = pageRequestOf(query);
      const member = memberInfo(userId, await shown(userId));
      const found = cut.offset === 0 && fits(member.email, query) ? [member] : [];
      return {
        body: { items: found, current_page: Math.floor(cut.offset / cut.limit) + 1, per_page: cut.limit },
      };
    },
    getMember: async ({ userId, path }) => {
      demandOwn(userId, path);
      if (path['user_id'] !== organizationId(userId)) throw refuse(404, 'Member not found');
      return { body: memberInfo(userId, await shown(userId)) };
    },
    countMembers: async ({ userId, path, query }) => {
      demandOwn(userId, path);
      return { body: fits(memberInfo(userId, await shown(userId)).email, query) ? 1 : 0 };
    },
  };
}

/** Who asks. */
function users(shown: Shown): Record<string, Handler> {
  return {
    currentKey: ({ userId }) => {
      const org = organizationId(userId);
      return {
        body: {
          id: 1,
          name: 'session key',
          org_id: org,
          bound_org_id: org,
          user_id: org,
          auth_type: 'api_key',
        },
      };
    },
    getUser: async ({ userId, query }) => {
      if (query['expose_secrets'] === true)
        throw refuse(403, 'Secrets are not given out again: settings and keys are write-only here');
      const org = organizationId(userId);
      return {
        body: {
          ...(await shown(userId)),
          id: userId === '' ? org : userId,
          org_id: org,
          org_name: nameOf(userId),
          role: 'owner',
          permissions: PERMISSIONS,
        },
      };
    },
    getGitUser: async ({ userId }) => {
      const { git_user_name: name, git_user_email: email } = await shown(userId);
      return {
        body: {
          id: NO_GIT_USER,
          login: NO_GIT_USER,
          avatar_url: '',
          company: null,
          name: name ?? null,
          email: email ?? null,
        },
      };
    },
  };
}

/** @throws Refusal 404 for what is not the caller's: it does not exist for them */
export function demandOwn(userId: string, path: Readonly<Record<string, string>>): void {
  const wanted = (path['org_id'] ?? '').replaceAll('-', '').toLowerCase();
  if (wanted !== organizationId(userId).replaceAll('-', '')) throw refuse(404, 'Organization not found');
}

const nameOf = (userId: string): string => (userId === '' ? ONLY_USER : userId);

function organizationInfo(userId: string, settings: Settings): Record<string, unknown> {
  const { agent_settings: agent, conversation_settings: conversation, email } = settings;
  return {
    id: organizationId(userId),
    name: nameOf(userId),
    contact_name: nameOf(userId),
    contact_email: typeof email === 'string' ? email : '',
    conversation_expiration: null,
    remote_runtime_resource_factor: settings['remote_runtime_resource_factor'] ?? null,
    billing_margin: null,
    enable_proactive_conversation_starters: settings['enable_proactive_conversation_starters'] ?? true,
    sandbox_base_container_image: settings['sandbox_base_container_image'] ?? null,
    sandbox_runtime_container_image: settings['sandbox_runtime_container_image'] ?? null,
    org_version: 0,
    agent_settings: agent,
    conversation_settings: conversation,
    search_api_key: null,
    sandbox_api_key: null,
    max_budget_per_task: settings['max_budget_per_task'] ?? null,
    v1_enabled: true,
    credits: null,
    is_personal: true,
  };
}

interface Member {
  readonly user_id: string;
  readonly email: string | null;
  readonly [name: string]: unknown;
}

function memberInfo(userId: string, { email }: Settings): Member {
  return {
    user_id: organizationId(userId),
    email: typeof email === 'string' ? email : null,
    role_id: 1,
    role: 'owner',
    role_rank: 10,
    status: 'active',
  };
}

function fits(email: string | null, query: Readonly<Record<string, unknown>>): boolean {
  const part = query['email'];
  return typeof part !== 'string' || (email ?? '').toLowerCase().includes(part.toLowerCase());
}
