// The platform and the explanation of a call in a real browser: profiles with headers, what users choose from, conversations with
// tags and cost, sandboxes that are paused and resumed, each in the name of one of two users.
import { join } from 'node:path';
import t from 'tap';
import { at, ended, startPlatform, specs, until, type PlatformRig } from '../../platform/fixture/rig.ts';
import { killMarked } from '../../platform/fixture/sandbox-processes.ts';
import { send } from '../../support/rig.ts';
import {
  axe,
  CHROMIUM,
  counted,
  HOSTILE,
  keysInOneTurn,
  openConsole,
  PHONE,
  visit,
  WITHOUT,
} from '../browser.ts';

const USERS = '[{ key: key-of-alice, user_id: alice }, { key: key-of-bob, user_id: bob }]';
const PROFILES = '/api/v1/settings/profiles';

const asAlice = (rig: PlatformRig, method: string, path: string, body?: unknown) =>
  rig.api(method, path, body, 'key-of-alice');

/** A conversation of alice with a sandbox, which has called once. */
async function converse(rig: PlatformRig): Promise<{ readonly id: string; readonly sandboxId: string }> {
  const begun = await asAlice(rig, 'POST', '/api/v1/app-conversations', {
    title: HOSTILE,
    tags: { costcenter: HOSTILE },
    llm_profile: 'Team',
  });
  const asked = { ...rig, api: (method: string, path: string) => asAlice(rig, method, path) };
  const task = await ended(asked, String(at(begun, 'id')));
  const id = String(task['app_conversation_id']);
  const { json } = await asAlice(rig, 'GET', `/api/v1/app-conversations?ids=${id}`);
  const [one] = json as [Record<string, string>];
  await until(asked, String(one['sandbox_id']), 'RUNNING');
  const { origin, pathname } = new URL(String(one['llm_base_url']));
  const body = { model: 'demo', messages: [{ role: 'user', content: 'Hi' }] };
  await send(origin, 'POST', `${pathname}/chat/completions`, body, {
    authorization: `Bearer ${one['llm_api_key']}`,
  });
  return { id, sandboxId: String(one['sandbox_id']) };
}

t.test('the platform in a browser', { skip: CHROMIUM === null ? WITHOUT : false }, async (t) => {
  const rig = await startPlatform(t, { users: USERS, platform: specs('', 'none') });
  t.teardown(() => killMarked(join(rig.folder, 'data')));
  const { ui, page, clean } = await openConsole(t, rig.url);

  await t.test('a profile: its headers are checked, saved and read back; it is used', async (t) => {
    await keysInOneTurn(page, 'g', 'a');
    await page.getByText('This user has no profile.').waitFor();
    await page.getByRole('button', { name: 'Add a profile', exact: true }).click();
    const form = page.getByRole('dialog', { name: 'Add a profile', exact: true });
    await form.getByRole('button', { name: 'Save', exact: true }).click();
    await form.getByText('A model is needed.').waitFor();
    await form.getByLabel(/^Name/).fill('Team');
    await form.getByLabel(/^Model/).fill('litellm_proxy/demo');
    await form.getByText('Advanced Options').click();
    const headers = form.getByLabel(/^Extra Headers/);
    await headers.fill('{"X-Team": "a", }');
    await form.getByText(/This is no JSON/).waitFor();
    t.same(await axe(page), [], 'the form');
    await headers.fill('{"Authorization": "Bearer x"}');
    await form.getByRole('button', { name: 'Save', exact: true }).click();
    await form
      .getByRole('alert')
      .getByText(/Authorization: .*remove it/)
      .waitFor();
    const sent = { 'X-Team': HOSTILE, 'X-Api-Token': 'secret' };
    await headers.fill(JSON.stringify(sent));
    await form.getByRole('button', { name: 'Save', exact: true }).click();
    await form.waitFor({ state: 'detached' });
    const drawer = page.getByRole('dialog', { name: 'Team', exact: true });
    await drawer.getByText(JSON.stringify(HOSTILE)).waitFor();
    t.equal(await drawer.getByText('secret').count(), 0, 'what looks like a key is not shown');
    t.same(await axe(page), [], 'the profile');
    await drawer.getByRole('button', { name: 'Edit', exact: true }).click();
    const again = page.getByRole('dialog', { name: 'Change the profile', exact: true });
    await again.getByLabel(/^Model/).fill('demo');
    await again.getByRole('button', { name: 'Save', exact: true }).click();
    await again.waitFor({ state: 'detached' });
    await drawer.getByRole('button', { name: 'Use it', exact: true }).click();
    await drawer.getByText('In use').waitFor();
    t.match((await asAlice(rig, 'GET', PROFILES)).json, {
      profiles: [{ name: 'Team', model: 'demo' }],
      active_profile: 'Team',
    });
    t.match((await asAlice(rig, 'GET', `${PROFILES}/Team`)).json, {
      config: { extra_headers: { 'X-Team': HOSTILE, 'X-Api-Token': /^\*+$/ } },
    });
    await page.keyboard.press('Escape');
    await drawer.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Add a profile', exact: true }).click();
    await form.getByLabel(/^Name/).fill('Team');
    await form.getByLabel(/^Model/).fill('another');
    await form.getByRole('button', { name: 'Save', exact: true }).click();
    await form.getByText('A profile of this name exists.').waitFor();
    t.match((await asAlice(rig, 'GET', `${PROFILES}/Team`)).json, { config: { model: 'demo' } });
    await form.getByLabel(/^Name/).fill('Team-2');
    await form.getByText('A profile of this name exists.').waitFor({ state: 'detached' });
    await form.getByRole('button', { name: 'Save', exact: true }).click();
    await form.waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');
    await asAlice(rig, 'DELETE', `${PROFILES}/Team-2`);
    await page.getByLabel('Provider', { exact: true }).waitFor();
    const offered = page
      .getByLabel('Model', { exact: true })
      .getByRole('option', { name: 'demo', exact: true });
    t.equal(await counted(offered, 1), 1, 'as the drop-down of users has it');
    await page.locator('.select-filter select').selectOption('bob');
    await page.getByText('This user has no profile.').waitFor();
    t.same(await axe(page), [], 'the list');
    clean();
  });

  await t.test('a conversation is listed with tags and cost; its sandbox pauses and resumes', async (t) => {
    const { id, sandboxId } = await converse(rig);
    const statusIs = (status: string) =>
      until({ ...rig, api: (method, path) => asAlice(rig, method, path) }, sandboxId, status);
    await visit(page, `${ui}platform?tab=conversations&user=bob`);
    await page.getByText('No conversation.').waitFor();
    await visit(page, `${ui}platform?tab=conversations`);
    await page.getByText(`costcenter: ${HOSTILE}`).waitFor();
    t.same(await axe(page), [], 'the list');
    await page.locator('[data-row]').first().click();
    const drawer = page.getByRole('dialog');
    await drawer.getByText('Tokens in · out').waitFor();
    t.same(await axe(page), [], 'the conversation');
    await drawer.getByRole('button', { name: 'Pause', exact: true }).click();
    await statusIs('PAUSED');
    await drawer.getByRole('button', { name: 'Resume', exact: true }).waitFor();
    await drawer.getByRole('link', { name: 'Its calls', exact: true }).click();
    await page.getByText('Calls in order').waitFor();
    t.match(page.url(), new RegExp(`sessions\\?id=${id.slice(0, 8)}-`));
    await visit(page, `${ui}platform?tab=sandboxes`);
    await page.getByRole('button', { name: 'Resume', exact: true }).click();
    await statusIs('RUNNING');
    await page.getByRole('button', { name: 'Pause', exact: true }).waitFor();
    t.same(await axe(page), [], 'the sandboxes');
    await killMarked(join(rig.folder, 'data'));
    await page
      .getByText(/Failed|Error|Gone|Missing|Lost/)
      .first()
      .waitFor();
    await page.getByRole('button', { name: 'Resume', exact: true }).click();
    await page.getByText('Only one whose process lives can be resumed').waitFor();
    await page.getByRole('link', { name: 'Its conversations', exact: true }).click();
    await page.getByText(`costcenter: ${HOSTILE}`).waitFor();
    clean();
  });

  await t.test('a call is explained, and so is one that would be refused', async (t) => {
    const calls = (): readonly string[] =>
      rig.demo.seen.filter(({ method }) => method === 'POST').map(({ path }) => path);
    const before = calls();
    await visit(page, `${ui}explain`);
    await page.getByRole('button', { name: 'Explain', exact: true }).click();
    await page.getByText('Which model does it ask for?').waitFor();
    await page.getByLabel(/^Model/).fill('demo');
    await page.getByLabel(/^Headers/).fill(JSON.stringify({ cookie: 'a=b', 'x-note': HOSTILE }));
    await page.getByRole('button', { name: 'Explain', exact: true }).click();
    await page.getByText(/^POST http/).waitFor();
    const row = page.getByRole('row', { name: /cookie/ });
    await row.getByText('Not forwarded').waitFor();
    t.same(await axe(page), [], 'the answer');
    await page.goto(`${ui}explain?model=${encodeURIComponent(HOSTILE)}`);
    await page.getByText(/The proxy would refuse it: 404/).waitFor();
    t.same(await axe(page), [], 'the refusal');
    t.same(calls(), before, 'nothing was sent');
    clean();
  });

  await t.test('nothing scrolls sideways on a phone', async (t) => {
    await page.setViewportSize(PHONE);
    for (const place of [
      'platform',
      'platform?tab=conversations',
      'platform?tab=sandboxes',
      'explain?model=demo',
    ]) {
      await visit(page, `${ui}${place}`);
      await page.locator('[data-row]').first().waitFor();
      const isWide = await page.evaluate<boolean>('document.documentElement.scrollWidth > innerWidth');
      t.notOk(isWide, place);
    }
    clean();
  });
});
