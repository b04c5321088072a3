// What stands on the platform's pages: profiles of one user, conversations with tags that have called, sandboxes of some states.
import { SECRET_KEY, SESSION_KEY, specs } from '../../platform/fixture/rig.ts';
import { beforeNextLook } from '../../support/patience.ts';
import { send, type Answer, type Rig } from '../../support/rig.ts';

/** The section that switches the platform on, for `startChain`. */
export const PLATFORM = `platform:
  session_api_key: ${SESSION_KEY}
  secret_key: ${SECRET_KEY}
${specs('      conversations_path: /api/conversations\n', 'none')}`;

const PROFILES = {
  Default: { model: 'litellm_proxy/claude-sonnet-4-5' },
  Research: {
    model: 'litellm_proxy/gpt-5',
    extra_headers: { 'X-OpenHands-Project': 'proj-42', 'X-Cost-Center': '4711' },
  },
  Small: { model: 'litellm_proxy/gpt-5-mini' },
};

const TASKS = [
  ['Fix the login timeout', 'Default', { team: 'platform', costcenter: '4711' }, 6],
  ['Find what makes the index slow', 'Research', { team: 'search', externalproject: 'proj-42' }, 9],
  ['Write the release notes', 'Small', {}, 3],
] as const;

const api = (rig: Rig, method: string, path: string, body?: unknown): Promise<Answer> =>
  send(rig.url, method, `/api/v1/${path}`, body, { authorization: '', 'x-session-api-key': SESSION_KEY });

interface Started {
  readonly id: string;
  readonly sandbox_id: string;
  readonly sandbox_status: string;
  readonly llm_base_url: string;
  readonly llm_api_key: string;
  readonly llm_model: string;
}

export async function runAgents(rig: Rig): Promise<void> {
  for (const [name, llm] of Object.entries(PROFILES))
    await api(rig, 'POST', `settings/profiles/${name}`, { llm });
  await api(rig, 'POST', 'settings/profiles/Default/activate', {});
  for (const [title, profile, tags, calls] of TASKS) {
    const { text } = await api(rig, 'POST', 'app-conversations', { title, llm_profile: profile, tags });
    const one = await running(rig, (JSON.parse(text) as { app_conversation_id: string }).app_conversation_id);
    const { origin, pathname } = new URL(one.llm_base_url);
    const body = {
      model: one.llm_model.replace('litellm_proxy/', ''),
      messages: [{ role: 'user', content: `${title}. `.repeat(400) }],
    };
    const headers = { authorization: `Bearer ${one.llm_api_key}` };
    for (let call = 0; call < calls; call++)
      await send(origin, 'POST', `${pathname}/chat/completions`, body, headers);
  }
}

/** The conversation, once its sandbox runs. */
async function running(rig: Rig, id: string): Promise<Started> {
  for (;;) {
    const { text } = await api(rig, 'GET', `app-conversations?ids=${id}`);
    const [one] = JSON.parse(text) as [Started | null];
    if (one?.sandbox_status === 'RUNNING') return one;
    if (one?.sandbox_status === 'ERROR') throw new Error(text);
    await beforeNextLook();
  }
}
