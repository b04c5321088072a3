// What the platform's interface answers, asked in the name of the user who is chosen in the address.
import { call, type Method } from '../../api/client.ts';
import { refreshAll, useResource, type Resource } from '../../api/resource.ts';
import { session } from '../../app/session.ts';
import { param } from '../../base/router.ts';

const BASE = 'ui/platform/api/v1/';
const USER_HEADER = 'x-platform-user';

export interface ProfileList {
  readonly profiles: readonly ProfileLine[];
  readonly active_profile: string | null;
}

export interface ProfileLine {
  readonly name: string;
  readonly model: string;
  /** null = this proxy. */
  readonly base_url: string | null;
  readonly api_key_set: boolean;
}

export interface Profile {
  readonly name: string;
  /** Secrets are masked; a mask that comes back stands for what is stored. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly api_key_set: boolean;
}

/** A part of a list. */
export interface Part<T> {
  readonly items: readonly T[];
  readonly next_page_id: string | null;
}

export interface ModelChoice {
  readonly provider: string;
  readonly name: string;
  readonly verified: boolean;
  readonly hidden: boolean;
}

export interface Conversation {
  /** 32 hex digits. */
  readonly id: string;
  readonly title: string | null;
  readonly sandbox_id: string;
  readonly sandbox_status: SandboxStatus;
  readonly execution_status: string | null;
  readonly tags: Readonly<Record<string, string>>;
  readonly llm_model: string | null;
  readonly llm_profile?: string | null;
  readonly selected_repository: string | null;
  readonly parent_conversation_id: string | null;
  readonly sub_conversation_ids: readonly string[];
  readonly metrics: {
    readonly accumulated_cost: number;
    readonly max_budget_per_task: number | null;
    readonly accumulated_token_usage?: { readonly prompt_tokens: number; readonly completion_tokens: number };
  } | null;
  readonly created_at: string;
  readonly updated_at: string;
}

export type SandboxStatus = 'STARTING' | 'RUNNING' | 'PAUSED' | 'ERROR' | 'MISSING';

export interface Sandbox {
  readonly id: string;
  readonly sandbox_spec_id: string;
  readonly status: SandboxStatus;
  readonly status_detail?: string | null;
  readonly created_at: string;
}

/** The users of the platform; `''` is the one of a plain key. */
export function platformUsers(): readonly string[] {
  const state = session.value;
  return state.is === 'in' ? state.platformUsers : [];
}

/** In whose name the page asks. */
export function platformUser(): string {
  const users = platformUsers();
  const chosen = param('user');
  return users.includes(chosen) ? chosen : (users[0] ?? '');
}

const headersOf = (user: string): Record<string, string> => (user === '' ? {} : { [USER_HEADER]: user });

export function usePlatform<T>(path: string, everyMs?: number): Resource<T> {
  const headers = headersOf(platformUser());
  return useResource<T>(`${BASE}${path}`, { headers, ...(everyMs === undefined ? {} : { everyMs }) });
}

/** Changes something, and asks again for all that is shown of the same kind. @throws ApiError */
export async function changePlatform(
  method: Exclude<Method, 'GET'>,
  path: string,
  body: unknown = {},
  /** Further ones, in lower case. */
  headers: Readonly<Record<string, string>> = {},
): Promise<void> {
  await call(method, `${BASE}${path}`, { body, headers: { ...headers, ...headersOf(platformUser()) } });
  await refreshAll(BASE);
}

/** A profile as it is stored. @throws ApiError */
export async function readProfile(name: string): Promise<Profile> {
  const { data } = await call<Profile>('GET', `${BASE}settings/profiles/${encodeURIComponent(name)}`, {
    headers: headersOf(platformUser()),
  });
  return data ?? { name, config: {}, api_key_set: false };
}

/** As calls name the conversation. */
export function sessionOf(id: string): string {
  return id.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

export function headersIn(config: Profile['config']): Readonly<Record<string, unknown>> {
  const headers = config['extra_headers'];
  return typeof headers === 'object' && headers !== null ? { ...headers } : {};
}

/** As a profile names the model. */
export const modelText = ({ provider, name }: ModelChoice): string => `${provider}/${name}`;

/** A member of a profile as text. */
export function textIn(config: Profile['config'], member: string): string {
  const value = config[member];
  if (typeof value === 'string') return value;
  return value === null || value === undefined ? '' : JSON.stringify(value);
}
