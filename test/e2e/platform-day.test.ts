// The example of docs/platform.md against a fresh server, and the rest of the platform's published client; on both stores.
import { CloudClient } from '@openhands/typescript-client/clients';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import { playDay } from '../../docs/examples/platform-day.ts';
import { markedProcesses } from '../../platform/sandboxes/process-table.ts';
import { SESSION_KEY, specs, startPlatform, type PlatformRigOptions } from '../platform/fixture/rig.ts';
import { anyPostgres } from '../support/postgres.ts';
import { headerOf, KEY } from '../support/rig.ts';

const PLACES: Readonly<Record<string, (t: Test) => Promise<PlatformRigOptions>>> = {
  SQLite: () => Promise.resolve({}),
  PostgreSQL: async (t) => ({
    env: { DATABASE_URL: (await anyPostgres(t)).url(), PATH: process.env['PATH'] },
  }),
};

for (const [name, place] of Object.entries(PLACES)) {
  t.test(
    `on ${name}, a user plays a day: settings, profile, conversation, calls, report, sandbox`,
    async (t) => {
      const rig = await startPlatform(t, { ...(await place(t)), platform: specs('', 'none') });
      const said: string[] = [];
      await playDay({
        url: rig.url,
        sessionKey: SESSION_KEY,
        masterKey: KEY,
        model: 'demo',
        say: (line) => void said.push(line),
      });
      t.match(said, [
        /1 profile, Default is active/,
        /its runtime calls http.*\/c\/[0-9a-f]{32}\/v1/,
        /Good morning/,
        /What is left/,
        /a stream ended with stop/,
        /has cost 0\.0000\d\d USD/,
        /costcenter:4711 has 3 calls of it, 0\.0000\d\d USD/,
        /is PAUSED/,
        /is RUNNING/,
        /deleted/,
      ]);
      const projects = rig.demo.seen.map(({ rawHeaders }) => headerOf(rawHeaders, 'x-openhands-project'));
      t.same(projects, ['proj-42', 'proj-42', 'proj-42'], 'the profile was on every call');
      t.same(await markedProcesses(join(rig.folder, 'data')), [], 'nothing is left running');
    },
  );

  t.test(`on ${name}, the published client reads and writes everything that is served`, async (t) => {
    const rig = await startPlatform(t, await place(t));
    const client = new CloudClient({ host: rig.url, apiKey: SESSION_KEY });
    await t.rejects(client.getSettings(), /404/);
    await client.saveSettings({
      agent_settings_diff: { llm: { model: 'demo', api_key: 'sk-x' } },
      conversation_settings_diff: { max_iterations: 9 },
      app_preferences: { enable_sound_notifications: true },
    });
    t.match(await client.getSettingsWithDerivedFields(), {
      llm_api_key_set: true,
      enable_sound_notifications: true,
      agent_settings: { llm: { model: 'demo' } },
      conversation_settings: { max_iterations: 9 },
    });
    t.match(await client.getSettingsSchema(), { model_name: 'AgentSettings' });
    t.match(await client.getConversationSettingsSchema(), { model_name: 'ConversationSettings' });
    await client.saveProfile('one', { llm: { model: 'demo', api_key: 'sk-x' } });
    t.match(await client.getProfile('one'), {
      name: 'one',
      api_key_set: true,
      config: { model: 'demo', api_key: null },
    });
    await client.renameProfile('one', 'two');
    t.match(await client.activateProfile('two'), { name: 'two', llm_applied: true });
    const begun = await client.createConversation({ title: 'x', trigger: 'gui' });
    t.match(await client.getConversationStartTask(begun.id), { id: begun.id, status: 'READY' });
    const id = String(begun.app_conversation_id);
    await client.updateConversationPublicFlag(id, true);
    t.match(await client.searchConversations(10), {
      items: [{ id, public: true, title: 'x' }],
      next_page_id: null,
    });
    await client.switchConversationProfile(id, 'two');
    await client.deleteProfile('two');
    t.same((await client.listProfiles()).profiles, []);
    t.same(await client.getSandboxes(['none']), [null]);
    await t.rejects(client.pauseSandbox('none'), /404/);
    await client.deleteConversation(id);
    t.same(await client.getConversations([id]), [null]);
    await t.rejects(new CloudClient({ host: rig.url, apiKey: 'wrong' }).getSettings(), /401/);
  });
}
