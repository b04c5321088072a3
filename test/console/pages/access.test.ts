// Keys, teams, users and budgets in a real browser: a key that is made, used, regenerated and deleted; a team with its members;
// a budget that is used up; what other roles see; names that try to be markup.
import t from 'tap';
import type { DemoGateway } from '../../../proxy/demo-gateway/demo-gateway.ts';
import { chat, KEY, send, startRig } from '../../support/rig.ts';
import {
  axe,
  becomes,
  CHROMIUM,
  counted,
  HOSTILE,
  openConsole,
  PHONE,
  signIn,
  visit,
  WITHOUT,
} from '../browser.ts';

const PRICED = 'input_cost_per_token: 0.001, output_cost_per_token: 0.001';

const config = (demo: DemoGateway): string => `
model_list:
  - model_name: good
    litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}", ${PRICED} }
general_settings:
  master_key: ${KEY}
`;

t.test(
  'keys, teams, users and budgets in a browser',
  { skip: CHROMIUM === null ? WITHOUT : false },
  async (t) => {
    const rig = await startRig(t, { config });
    const make = async (path: string, body: object): Promise<Readonly<Record<string, unknown>>> => {
      const { status, text } = await send(rig.url, 'POST', path, body);
      t.equal(status, 200, `${path} ${status === 200 ? '' : text}`);
      return JSON.parse(text) as Record<string, unknown>;
    };
    const callWith = async (key: string): Promise<number> =>
      (await chat(rig, 'good', {}, { authorization: `Bearer ${key}` })).status;
    const { ui, page, clean } = await openConsole(t, rig.url);
    const drawer = page.locator('dialog.drawer');
    const form = page.locator('dialog.dialog');

    await t.test('a key is made, shown once, used, regenerated, blocked and deleted', async (t) => {
      await visit(page, `${ui}keys`);
      await page.getByText('There is no key yet.').waitFor();
      await page.getByRole('button', { name: 'Create a key', exact: true }).click();
      await form.getByLabel('Alias', { exact: true }).fill(HOSTILE);
      await form.getByLabel(/^Budget, US dollars/).fill('much');
      await form.getByText('This must be a number, 0 or more.').waitFor();
      await form.getByLabel(/^Budget, US dollars/).fill('1000');
      await form.getByLabel('Starts again after', { exact: true }).fill('30d');
      await form.getByLabel('Models', { exact: true }).fill('good');
      t.same(await axe(page), [], 'the form');
      await form.getByRole('button', { name: 'Create a key', exact: true }).click();
      const first = (await form.locator('[data-key]').textContent()) ?? '';
      t.match(first, /^sk-[A-Za-z0-9]{48}$/);
      t.same(await axe(page), [], 'the key, shown');
      await page.keyboard.press('Escape');
      await form.getByText('Is it copied?').waitFor();
      await form.getByRole('button', { name: 'I have it', exact: true }).click();
      await form.waitFor({ state: 'detached' });
      t.notOk((await page.content()).includes(first), 'it is nowhere in the page');
      t.equal(await callWith(first), 200);
      await page.locator('[data-row]').getByText(HOSTILE).click();
      await drawer.getByText('each 30d').waitFor();
      t.same(await axe(page), [], 'the drawer');
      t.match(page.url(), /id=[0-9a-f]{64}/);

      await drawer.getByRole('button', { name: 'Regenerate', exact: true }).click();
      await form.getByRole('button', { name: 'Regenerate', exact: true }).click();
      const second = (await form.locator('[data-key]').textContent()) ?? '';
      await form.getByText('The old value is refused from now on.').waitFor();
      await form.getByRole('button', { name: 'I have it', exact: true }).click();
      t.not(second, first);
      t.same([await callWith(first), await callWith(second)], [401, 200]);

      await drawer.getByRole('button', { name: 'Edit', exact: true }).click();
      await form.getByLabel('Alias', { exact: true }).fill('renamed');
      await form.getByRole('button', { name: 'Save', exact: true }).click();
      await drawer.getByRole('heading', { name: 'renamed', exact: true }).waitFor();
      const info = JSON.parse((await send(rig.url, 'GET', `/key/info?key=${second}`)).text) as {
        info: { max_budget: number; models: string[] };
      };
      t.match(info.info, { max_budget: 1000, models: ['good'] }, 'what was not changed stays');

      await drawer.getByRole('button', { name: 'Block', exact: true }).click();
      await form.getByRole('button', { name: 'Block', exact: true }).click();
      await drawer.getByRole('button', { name: 'Unblock', exact: true }).waitFor();
      t.equal(await callWith(second), 401);
      await drawer.getByRole('button', { name: 'Delete', exact: true }).click();
      await form.getByRole('button', { name: 'Delete', exact: true }).click();
      await page.getByText('There is no key yet.').waitFor();
      clean();
    });

    await t.test('a refusal is a sentence, and a search asks about all keys', async (t) => {
      await page.goto('about:blank'); // the list would be read again after each of them
      for (let i = 0; i < 60; i++) await make('/key/generate', { key_alias: `many-${i}` });
      await page.goto(`${ui}keys?q=many-0`);
      await page.locator('[data-row]').getByText('many-0', { exact: true }).waitFor();
      t.equal(await counted(page.locator('[data-row]'), 1), 1, 'it is on the second page of the list');
      await visit(page, `${ui}keys?q=any-3`);
      await page.getByRole('link', { name: 'many-3', exact: true }).click();
      await page.locator('[data-row]').waitFor();
      await visit(page, `${ui}keys`);
      await page.getByRole('link', { name: 'Next', exact: true }).click();
      await page.getByText('Page 2 of 2').waitFor();
      t.equal(await counted(page.locator('[data-row]'), 10), 10);
      await page.getByRole('button', { name: 'Create a key', exact: true }).click();
      await form.getByLabel('Alias', { exact: true }).fill('many-1');
      await form.getByRole('button', { name: 'Create a key', exact: true }).click();
      await form.getByText("Key with alias 'many-1' already exists.").waitFor();
      clean();
    });

    await t.test('a team with its members', async (t) => {
      await make('/user/new', { user_id: 'ada', user_email: 'ada@example.com', auto_create_key: false });
      await visit(page, `${ui}teams`);
      await page.getByRole('button', { name: 'Create a team', exact: true }).click();
      await form.getByLabel(/^Name of the team/).fill(HOSTILE);
      await form.getByRole('button', { name: 'Save', exact: true }).click();
      await drawer.getByText('Nobody is in this team.').waitFor();
      await drawer.getByRole('button', { name: 'Add a member', exact: true }).click();
      await form.getByLabel(/^User id or e-mail/).fill('ada');
      await form.getByLabel(/^Budget in this team/).fill('5');
      t.same(await axe(page), [], 'the form of a member');
      await form.getByRole('button', { name: 'Add', exact: true }).click();
      await drawer.getByText('/ $5.00').waitFor();
      await drawer.getByRole('button', { name: 'Make admin', exact: true }).click();
      await drawer.getByRole('button', { name: 'Make member', exact: true }).waitFor();
      t.same(await axe(page), [], 'the team');
      await drawer.getByRole('button', { name: 'Add a member', exact: true }).click();
      await form.getByLabel(/^User id or e-mail/).fill('ada');
      await form.getByRole('button', { name: 'Add', exact: true }).click();
      await form.getByText(/User already in team/).waitFor();
      await form.getByRole('button', { name: 'Cancel', exact: true }).click();
      await drawer.getByRole('button', { name: 'Remove', exact: true }).click();
      await form.getByRole('button', { name: 'Remove', exact: true }).click();
      await drawer.getByText('Nobody is in this team.').waitFor();
      clean();
    });

    await t.test('users, and a budget that is used up', async (t) => {
      await visit(page, `${ui}users`);
      await page.getByRole('button', { name: 'Create a user', exact: true }).click();
      await form.getByLabel('E-mail address', { exact: true }).fill('grace@example.com');
      await form.getByLabel('Role', { exact: true }).selectOption('internal_user_viewer');
      await form.getByRole('button', { name: 'Save', exact: true }).click();
      await drawer.getByText('This user has no key.').waitFor();
      await drawer.getByText('User, reads only').waitFor();
      t.same(await axe(page), [], 'the user');
      await make('/key/generate', { key_alias: 'spent', user_id: 'ada', max_budget: 3, spend: 3.5 });
      await visit(page, `${ui}budgets`);
      await page.getByText('Used up', { exact: true }).first().waitFor();
      const worst = page.locator('[data-row]').first().getByRole('link');
      t.equal(await becomes(() => worst.textContent(), 'spent'), 'spent', 'the worst first');
      t.same(await axe(page), [], 'budgets');
      await page.getByRole('link', { name: 'spent', exact: true }).click();
      await drawer.getByText('Used up', { exact: true }).waitFor();
      clean();
    });

    await t.test('nothing scrolls sideways on a phone', async (t) => {
      await page.setViewportSize(PHONE);
      for (const place of ['keys', 'teams', 'users', 'budgets']) {
        await visit(page, `${ui}${place}`);
        await page.locator('[data-row]').first().waitFor();
        t.notOk(await page.evaluate<boolean>('document.documentElement.scrollWidth > innerWidth'), place);
        t.same(await axe(page), [], place);
        await page.locator('[data-row]').first().click();
      }
      clean();
    });

    await t.test('a viewer reads, a user sees what is theirs', async (t) => {
      const sees = async (role: string, id: string): Promise<void> => {
        await make('/user/new', { user_id: id, user_role: role, auto_create_key: false });
        const { key } = await make('/key/generate', { user_id: id, key_alias: `key of ${id}` });
        await page.context().clearCookies();
        await page.goto(`${ui}keys`);
        await signIn(page, String(key));
        await page.locator('[data-row]').getByText(`key of ${id}`).waitFor();
      };
      await page.setViewportSize({ width: 1280, height: 800 });
      await sees('proxy_admin_viewer', 'viewer');
      t.equal(await counted(page.locator('[data-row]'), 50), 50, 'all keys');
      for (const place of ['keys', 'teams', 'users', 'budgets']) {
        await visit(page, `${ui}${place}`);
        await page.locator('[data-row]').first().click();
        if (place !== 'budgets') await drawer.locator('dl').waitFor();
        t.equal(
          await page.getByRole('button', { name: /Create|Edit|Delete|Block|Regenerate|Add a/ }).count(),
          0,
          place,
        );
      }
      await sees('internal_user', 'linus');
      t.equal(await counted(page.locator('[data-row]'), 1), 1, 'their own key');
      t.equal(await counted(page.getByRole('button', { name: 'Create a key', exact: true }), 1), 1);
      await visit(page, `${ui}users`);
      await page.getByText('Keys of the user').waitFor();
      t.equal(await page.getByRole('button', { name: 'Edit', exact: true }).count(), 0);
      await visit(page, `${ui}teams`);
      await page.getByText('You are in no team.').waitFor();
      await visit(page, `${ui}models`);
      await page.locator('[data-row]').first().waitFor();
      t.equal(
        await page.getByText('Quiet', { exact: true }).count(),
        0,
        'how models do is not known to this role',
      );
      await visit(page, `${ui}budgets`);
      await page.getByText('This page is not for your role.').waitFor();
      clean();
    });
  },
);
