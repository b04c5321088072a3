// Calls, sessions, spend and models in a real browser, over a proxy with traffic: what a list shows, follows and adds up to; a
// model that is added, tried, changed and deleted; and what its switch for client headers makes the gateway see.
import type { Page } from 'playwright-core';
import t from 'tap';
import type { DemoGateway } from '../../../proxy/demo-gateway/demo-gateway.ts';
import { chat, KEY, send, startRig } from '../../support/rig.ts';
import { axe, becomes, CHROMIUM, counted, HOSTILE, openConsole, PHONE, visit, WITHOUT } from '../browser.ts';

const PRICED = 'input_cost_per_token: 0.001, output_cost_per_token: 0.001';

const config = (demo: DemoGateway): string => `
model_list:
  - model_name: good
    litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}", ${PRICED} }
  - model_name: broken
    litellm_params: { model: openai/demo-500, api_base: "${demo.url}/compat/v1" }
  - model_name: failing
    litellm_params: { model: openai/acme/demo-503, api_base: "${demo.url}/compat/v1" }
router_settings: { disable_cooldowns: true, num_retries: 0 }
general_settings:
  master_key: ${KEY}
`;

t.test('rows, sums and models in a browser', { skip: CHROMIUM === null ? WITHOUT : false }, async (t) => {
  const rig = await startRig(t, { config });
  const { ui, page, clean } = await openConsole(t, rig.url);
  const seenHeader = (name: string): string | null => {
    const { rawHeaders = [] } = rig.demo.seen.findLast(({ method }) => method === 'POST') ?? {}; // the page asks, too
    const at = rawHeaders.findIndex((one, i) => i % 2 === 0 && one.toLowerCase() === name);
    return at === -1 ? null : (rawHeaders[at + 1] ?? null);
  };
  const session = (id: string): Record<string, string> => ({ 'x-litellm-session-id': id });

  await t.test('calls appear by themselves, and one opens', async (t) => {
    await page.goto(`${ui}calls`);
    await page.getByText('No calls in this range.').waitFor();
    await chat(rig, 'good', { user: HOSTILE, metadata: { tags: [HOSTILE] } }, session('first'));
    await page.locator('[data-row]').first().waitFor();
    await chat(rig, 'broken', {}, { ...session('first'), 'user-agent': HOSTILE });
    await page.getByText('Gateway error').waitFor();
    t.equal(await counted(page.locator('[data-row]'), 2), 2);
    t.same(await axe(page), [], 'the list');
    await page.getByText('Complete', { exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText(HOSTILE).first().waitFor();
    t.match(page.url(), /id=[0-9a-f-]{36}/, 'the call has an address');
    t.same(await axe(page), [], 'the call');
    await page.reload();
    await dialog.getByText('Money and tokens').waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.goBack();
    t.notMatch(page.url(), /id=/, 'Back does not open again what was closed');
    await page.goForward();
    await page.getByText('Complete', { exact: true }).click();
    await dialog.waitFor();
    await page.keyboard.press('Escape');
    await page.getByText('Gateway error').click();
    await dialog.waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.goForward();
    await dialog.waitFor();
    t.match(page.url(), /id=/, 'Forward does');
    await page.goto(`${ui}calls?id=no-such-call`);
    await page.getByText('No call has this id.').waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.goBack();
    await dialog.getByText('Money and tokens').waitFor();
    await page.goForward();
    await dialog.waitFor({ state: 'detached' });
    t.notMatch(page.url(), /no-such-call/, 'nor what was opened by its address');
    await page.goto(`${ui}calls?status=failure`);
    await page.getByText('Gateway error').waitFor();
    t.equal(await counted(page.locator('[data-row]'), 1), 1);
    await visit(page, `${ui}calls?session=nobody`);
    await page.getByText('No call matches these filters.').waitFor();
    clean();
  });

  await t.test('a page that is switched off says so, and not that a role is missing', async () => {
    await visit(page, `${ui}platform`);
    await page.getByText('This page is switched off at this proxy.').waitFor();
    clean();
  });

  await t.test('a form that is wrong leads to the first wrong field', async (t) => {
    await visit(page, `${ui}models`);
    await page.getByRole('button', { name: 'Add a model' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    const focused = await page.locator('input:focus[aria-invalid=true]').getAttribute('id');
    t.equal(focused, await page.locator('[aria-invalid=true]').first().getAttribute('id'));
    clean();
  });

  await t.test('a session adds up, and so do the days', async (t) => {
    for (let i = 0; i < 3; i++) await chat(rig, 'good', {}, session('second'));
    const { text } = await send(rig.url, 'GET', '/spend/sums');
    const { total } = JSON.parse(text) as { total: { spend: string; requests: number } };
    t.equal(total.requests, 5);
    await visit(page, `${ui}sessions`);
    await page.getByRole('cell', { name: 'second', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Calls in order').waitFor();
    t.equal(await counted(dialog.locator('[data-row]'), 3), 3);
    t.same(await axe(page), [], 'the conversation');
    await visit(page, `${ui}spend`);
    const sum = page.locator('.figure .value').first();
    const shown = async (): Promise<number> =>
      Number(((await sum.getAttribute('title')) ?? '').replaceAll(/[^\d.]/g, ''));
    const spend = Number(total.spend);
    t.equal(await becomes(shown, spend), spend, 'to the last digit');
    await page.getByText('1 call without a known cost').waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'good', exact: true }).click();
    await page.getByRole('heading', { name: 'By team', exact: true }).waitFor();
    t.match(page.url(), /model_group=good/);
    t.same(await axe(page), [], 'spend');
    clean();
  });

  await t.test(
    'a model: a wrong address is mended, it is called, its switch acts, it is deleted',
    async (t) => {
      const forwarded = async (): Promise<boolean> => {
        await chat(rig, 'added', {}, { 'x-my-header': 'mine' });
        return seenHeader('x-my-header') === 'mine';
      };
      await visit(page, `${ui}models`);
      await page.getByRole('button', { name: 'Add a model', exact: true }).click();
      const dialog = page.getByRole('dialog', { name: 'Add a model', exact: true });
      await dialog.getByRole('button', { name: 'Save', exact: true }).click();
      await dialog.getByText('An address is needed.').waitFor();
      await dialog.getByLabel(/^Name/).fill('added');
      await dialog.getByLabel('Provider', { exact: true }).selectOption('custom');
      await dialog.getByLabel(/^Model at the gateway/).fill('team/demo');
      await dialog.getByLabel(/^Address/).fill(`${rig.demo.url}/compat`);
      await dialog.getByRole('button', { name: `Use ${rig.demo.url}/compat/v1`, exact: true }).click();
      await dialog.getByLabel(/^Custom LLM extra HTTP headers/).fill('{"x-team": 1, }');
      await dialog.getByText(/This is no JSON/).waitFor();
      await dialog.getByLabel(/^Custom LLM extra HTTP headers/).fill('{"x-team": "agents"}');
      t.same(await axe(page), [], 'the form');
      await dialog.getByText(`POST ${rig.demo.url}/compat/v1/chat/completions`).waitFor();
      await dialog.getByRole('button', { name: 'Save', exact: true }).click();
      await dialog.waitFor({ state: 'detached' });
      t.equal(await forwarded(), false, 'not without the switch');
      t.equal(seenHeader('x-team'), 'agents');
      await change(page, true);
      t.equal(await forwarded(), true);
      t.equal(seenHeader('x-team'), 'agents', 'the headers are kept');
      await change(page, false);
      t.equal(await forwarded(), false);
      const drawer = page.getByRole('dialog', { name: 'added', exact: true });
      await drawer.getByRole('button', { name: 'Send', exact: true }).click();
      await drawer.getByText(/whole after/).waitFor();
      t.same(await axe(page), [], 'the model');
      await drawer.getByRole('button', { name: 'Delete', exact: true }).click();
      await page
        .getByRole('dialog', { name: 'Delete added?', exact: true })
        .getByRole('button', { name: 'Delete', exact: true })
        .click();
      await drawer.waitFor({ state: 'detached' });
      t.equal((await chat(rig, 'added')).status, 404);
      clean();
    },
  );

  await t.test('a model whose calls fail is not called serving', async (t) => {
    await chat(rig, 'failing');
    await visit(page, `${ui}models`);
    const row = page.getByRole('row', { name: /failing/ });
    await row.getByText('Most fail').waitFor();
    t.equal(await row.getByText('Serving').count(), 0);
    await visit(page, `${ui}models?id=no-such-entry`);
    await page.getByRole('dialog').getByText('No entry has this id.').waitFor();
    clean();
  });

  await t.test('nothing scrolls sideways on a phone', async (t) => {
    await page.setViewportSize(PHONE);
    await visit(page, `${ui}calls`);
    await page.locator('[data-row]').first().waitFor();
    const cut = await page.evaluate<readonly string[]>(
      `[...document.querySelectorAll('[data-row]')].flatMap((row) =>
        [row.firstChild, row.lastChild, row.querySelector('.end')].filter((cell) => cell.scrollWidth > cell.clientWidth).map((cell) => cell.textContent))`,
    );
    t.same(cut, [], 'times and costs are whole');
    t.equal(
      await page.evaluate<boolean>(
        "(list => list.scrollWidth > list.clientWidth)(document.querySelector('.virtual'))",
      ),
      false,
      'the list fits',
    );
    for (const place of ['calls', 'sessions', 'spend', 'models']) {
      await visit(page, `${ui}${place}`);
      await page.locator('[data-row]').first().waitFor();
      const isWide = await page.evaluate<boolean>('document.documentElement.scrollWidth > innerWidth');
      t.notOk(isWide, place);
    }
    clean();
  });
});

/** Opens the form of the model that is open, sets its switch for client headers, and saves. */
async function change(page: Page, forwards: boolean): Promise<void> {
  const drawer = page.getByRole('dialog', { name: 'added', exact: true });
  await drawer.getByRole('button', { name: 'Edit', exact: true }).click();
  const form = page.getByRole('dialog', { name: 'Edit', exact: true });
  await form.getByText('Advanced Options').click();
  await form.getByLabel(/^Enable Forwarding Client Headers/).selectOption(forwards ? 'yes' : 'no');
  await form.getByRole('button', { name: 'Save', exact: true }).click();
  await form.waitFor({ state: 'detached' });
}
