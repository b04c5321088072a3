// LLM profiles: named LLM configurations of a user, one of them active. A conversation keeps the one it began with.
import type { Handler } from '../api/router.ts';
import { invalidValue, refuse } from '../api/refusal.ts';
import type { Schema } from '../api/description.ts';
import type { Documents } from '../store/documents.ts';
import { checkHeaders } from './headers.ts';
import { isTree, own, shown, unmasked } from './secrets.ts';
import { defaultsOf } from './v1.ts';
import { agentLlm, NO_SETTINGS, type SettingsV1 } from './v1-document.ts';

type Tree = Readonly<Record<string, unknown>>;

const MAX_PROFILES = 50;

interface SaveRequest {
  readonly include_secrets?: boolean;
  readonly llm?: Tree | null;
  readonly preserve_existing_api_key?: boolean;
}

/** The handlers of the profiles, by operation id. @param llm `StrictLLM` */
export function profiles(documents: Documents<SettingsV1>, llm: Schema): Record<string, Handler> {
  const nameOf = (path: Readonly<Record<string, string>>): string => path['name'] ?? '';
  return {
    listProfiles: async ({ userId }) => {
      const stored = (await documents.read(userId)) ?? NO_SETTINGS;
      const list = Object.entries(stored.profiles).map(([name, config]) => ({
        name,
        model: own(config, 'model') ?? own(defaultsOf(llm), 'model'),
        base_url: own(config, 'base_url') ?? null,
        api_key_set: hasKey(config),
      }));
      return { body: { profiles: list, active_profile: stored.active } };
    },
    getProfile: async ({ userId, path }) => {
      const name = nameOf(path);
      const config = own(((await documents.read(userId)) ?? NO_SETTINGS).profiles, name);
      if (!isTree(config)) throw unknown(name);
      const body = {
        name,
        config: { ...defaultsOf(llm), ...shown(config), api_key: null },
        api_key_set: hasKey(config),
      };
      return { body };
    },
    saveProfile: async ({ userId, path, body, mustBeNew }) => {
      const name = nameOf(path);
      const request = (body ?? {}) as SaveRequest;
      checkHeaders(request.llm?.['extra_headers'], ['body', 'llm', 'extra_headers']);
      checkAccount(request.llm?.['auth_type']);
      await documents.change(userId, (old) => {
        if (mustBeNew && isTree(own(old?.profiles ?? {}, name))) throw exists(412, name);
        return { next: saved(old, name, request), result: null };
      });
      return { status: 201, body: { name, message: `Profile '${name}' saved` } };
    },
    deleteProfile: async ({ userId, path }) => {
      const name = nameOf(path);
      await documents.change(userId, (old) => {
        if (old === null || !Object.hasOwn(old.profiles, name)) return { next: null, result: null };
        const { [name]: _gone, ...rest } = old.profiles;
        return {
          next: { ...old, profiles: rest, active: old.active === name ? null : old.active },
          result: null,
        };
      });
      return { body: { name, message: `Profile '${name}' deleted` } };
    },
    activateProfile: async ({ userId, path }) => {
      const name = nameOf(path);
      const model = await documents.change(userId, (old) => {
        const config = own(old?.profiles ?? {}, name);
        if (old === null || !isTree(config)) throw unknown(name);
        // The platform streams with an activated profile, whatever it says itself.
        const agent = { ...old.agent, llm: { ...config, stream: true } };
        return {
          next: { ...old, agent, active: name },
          result: own(config, 'model') ?? own(defaultsOf(llm), 'model'),
        };
      });
      return { body: { name, message: `Switched to profile '${name}'`, model } };
    },
    renameProfile: async ({ userId, path, body }) => {
      const name = nameOf(path);
      const { new_name: next } = body as { readonly new_name: string };
      await documents.change(userId, (old) => ({ next: renamed(old, name, next), result: null }));
      return { body: { name: next, message: `Profile '${name}' renamed to '${next}'` } };
    },
  };
}

/** @throws Refusal 422 for a login that no call to this proxy could use */
function checkAccount(type: unknown): void {
  if (type !== 'subscription') return;
  const why = 'a subscription goes past this proxy, so its calls could not be attributed; use api_key';
  throw invalidValue(['body', 'llm', 'auth_type'], why);
}

function saved(old: SettingsV1 | null, name: string, request: SaveRequest): SettingsV1 {
  const settings = old ?? NO_SETTINGS;
  const before = own(settings.profiles, name);
  if (!isTree(before) && Object.keys(settings.profiles).length >= MAX_PROFILES) {
    throw refuse(409, `Profile limit reached (${MAX_PROFILES}). Delete a profile before saving a new one.`);
  }
  const sent = request.llm ?? null;
  if (sent === null && old === null) throw refuse(404, 'Settings not found');
  const config: Record<string, unknown> = {
    ...(sent === null ? agentLlm(settings) : unmasked(sent, before)),
  };
  const keeps =
    sent !== null &&
    (!Object.hasOwn(sent, 'api_key') ||
      (request.preserve_existing_api_key === true && (sent['api_key'] ?? '') === ''));
  if (keeps) config['api_key'] = isTree(before) ? (own(before, 'api_key') ?? null) : null;
  if (request.include_secrets === false) config['api_key'] = null;
  return { ...settings, profiles: { ...settings.profiles, [name]: config } };
}

function renamed(old: SettingsV1 | null, name: string, next: string): SettingsV1 {
  const config = own(old?.profiles ?? {}, name);
  if (old === null || !isTree(config)) throw unknown(name);
  if (next === name) return old;
  if (Object.hasOwn(old.profiles, next)) throw exists(409, next);
  const entries = Object.entries(old.profiles).map(([one, value]) => [one === name ? next : one, value]);
  return {
    ...old,
    profiles: Object.fromEntries(entries) as SettingsV1['profiles'],
    active: old.active === name ? next : old.active,
  };
}

const exists = (status: number, name: string): Error => refuse(status, `Profile '${name}' already exists`);

const unknown = (name: string): Error => refuse(404, `Profile '${name}' not found`);

function hasKey(config: Tree): boolean {
  const key = own(config, 'api_key');
  return typeof key === 'string' && key !== '';
}
