// Alerts, the other servers' line, findings and the comparison of ledgers in a real browser: hostile names, what to do, both
// themes, a phone, another language, and a role that may not.
import { join } from 'node:path';
import t from 'tap';
import { openHistoryStore } from '../../../proxy/items/history.ts';
import { openReconciliations } from '../../../proxy/server/reconciliations.ts';
import { keptReconciliation } from '../../../proxy/spend/report/kept-reconciliation.ts';
import { reconcile } from '../../../proxy/spend/report/reconcile.ts';
import type { LedgerEntry } from '../../../proxy/spend/report/ledger-entry.ts';
import { receiver } from '../../support/alert-receiver.ts';
import { managed, newKey } from '../../support/manage.ts';
import { chat, KEY, send, startRig } from '../../support/rig.ts';
import {
  axe,
  CHROMIUM,
  counted,
  HOSTILE,
  openConsole,
  openPage,
  PHONE,
  signedIn,
  signIn,
  visit,
  WITHOUT,
} from '../browser.ts';

const PRICED = 'input_cost_per_token: 0.001, output_cost_per_token: 0.001';
const AT = Date.UTC(2026, 10, 21, 10);

const entry = (id: string, spendPico: bigint): LedgerEntry => ({
  id,
  callIds: [id],
  answerIds: [],
  startMs: AT,
  model: HOSTILE,
  session: HOSTILE,
  tags: [HOSTILE],
  promptTokens: 10,
  completionTokens: 10,
  spendPico,
});

t.test(
  'alerts and reconciliations in a browser',
  { skip: CHROMIUM === null ? WITHOUT : false },
  async (t) => {
    const gone = await receiver(t);
    gone.answersAlways(410);
    const rig = await startRig(t, {
      config: (demo) => `
model_list:
  - model_name: good
    litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}", ${PRICED} }
general_settings: { master_key: ${KEY} }
alerts: { webhooks: [{ name: on-call, url: "${gone.url}" }] }
`,
    });
    const { browser, ui, page, clean } = await openConsole(t, rig.url);

    await t.test('before anything happened', async (t) => {
      await visit(page, `${ui}system?tab=alerts`);
      await page.getByText('No alert was raised.').waitFor();
      t.same(await axe(page), []);
      await visit(page, `${ui}spend`);
      await page.getByText('Nothing was compared yet.').waitFor();
      t.same(await axe(page), []);
    });

    await t.test('an alert that reached nobody: the banner, the list, what to do', async (t) => {
      const key = await newKey(rig, { key_alias: HOSTILE, soft_budget: 0.000001 });
      t.equal((await chat(rig, 'good', {}, { authorization: `Bearer ${key}` })).status, 200);
      await rig.logged(({ msg }) => msg === 'an alert is given up');
      await page.goto(ui);
      await page.getByText('An alert of the last day did not reach a receiver.').waitFor();
      await page
        .getByText('1 alert was given up: on-call did not take it (the receiver answers 410).')
        .waitFor();
      t.same(await axe(page), [], 'the overview');
      await page.locator('.banner').getByRole('link').click();
      const row = page.getByRole('cell', { name: /^Soft budget reached(?!:)/ });
      await row.click();
      t.match(page.url(), /tab=alerts&state=failed&id=evt_/, 'the alert has an address');
      const dialog = page.getByRole('dialog');
      await dialog.getByText('Somebody was not told').waitFor();
      await dialog.getByText('the receiver answers 410').waitFor();
      t.equal(await dialog.getByRole('link', { name: `key ${HOSTILE}` }).count(), 1, 'a link to the key');
      t.same(await axe(page), [], 'the alert');
      await page.emulateMedia({ colorScheme: 'dark' });
      t.same(await axe(page, 'colours'), [], 'in the dark');
      await page.emulateMedia({ colorScheme: 'light' });
      clean();
    });

    await t.test('acknowledged by keys alone, with a note; it needs nobody any more', async (t) => {
      await visit(page, `${ui}system?tab=alerts&acknowledged=false`);
      await page.locator('[data-row]').first().focus();
      await page.keyboard.press('Enter');
      const drawer = page.getByRole('dialog');
      await drawer.getByText('Open', { exact: true }).waitFor();
      await drawer.getByRole('button', { name: 'Acknowledge', exact: true }).focus();
      await page.keyboard.press('Enter');
      const question = page.getByRole('dialog', { name: 'Acknowledge this alert' });
      await question.waitFor();
      t.same(await axe(page), [], 'the question');
      // The note has the focus.
      await page.keyboard.type(`a load test ${HOSTILE}`);
      await page.keyboard.press('Enter');
      await drawer.getByText('Acknowledged by master key').waitFor();
      await drawer.getByText(`a load test ${HOSTILE}`).waitFor();
      await drawer.getByText('Somebody was not told').waitFor();
      t.equal(await counted(page.getByRole('dialog'), 1), 1, 'the question is gone, and no other one came');
      t.equal(
        await counted(drawer.locator('button:focus', { hasText: 'Reopen' }), 1),
        1,
        'the focus is back',
      );
      t.same(await axe(page), [], 'the alert, though the list shows it no more');
      await page.emulateMedia({ colorScheme: 'dark' });
      t.same(await axe(page, 'colours'), [], 'in the dark');
      await page.emulateMedia({ colorScheme: 'light' });
      await page.keyboard.press('Escape');
      await page.getByText('No alert matches.').waitFor();
      await page.getByLabel('Status').selectOption('Acknowledged');
      await page.getByRole('cell', { name: /Acknowledged by master key/ }).waitFor();
      t.same(await axe(page), [], 'the list');
      await visit(page, `${ui}overview`);
      await page.getByText(/Soft budget reached: .* Acknowledged by master key\.$/).waitFor();
      t.equal(await counted(page.getByText('An alert of the last day did not reach a receiver.'), 0), 0);
      clean();
    });

    await t.test(
      'a viewer sees who has seen it, and has no button; on a phone an administrator reopens it',
      async (t) => {
        const { key } = await managed(rig, 'POST /user/new', {
          user_id: 'finance',
          user_role: 'proxy_admin_viewer',
        });
        const viewer = await openPage(browser, ui);
        t.teardown(() => viewer.context.close());
        await signIn(viewer.page, String(key));
        await signedIn(viewer.page);
        await visit(viewer.page, `${ui}system?tab=alerts`);
        await viewer.page.locator('[data-row]').first().click();
        const shown = viewer.page.getByRole('dialog');
        await shown.getByText('Acknowledged by master key').waitFor();
        t.equal(await shown.getByRole('button', { name: 'Reopen' }).count(), 0);
        t.same(viewer.wrong, []);

        const phone = await openPage(browser, ui, { viewport: PHONE });
        t.teardown(() => phone.context.close());
        await signIn(phone.page, KEY);
        await signedIn(phone.page);
        await visit(phone.page, `${ui}system?tab=alerts`);
        const wide = async (): Promise<number> =>
          Math.max(0, await phone.page.evaluate<number>('document.documentElement.scrollWidth - innerWidth'));
        await phone.page.getByText('Acknowledged by master key').first().waitFor();
        t.equal(await wide(), 0, 'the list fits');
        await phone.page.locator('[data-row]').first().click();
        await phone.page.getByRole('dialog').getByRole('button', { name: 'Reopen' }).click();
        const question = phone.page.getByRole('dialog', { name: 'Reopen this alert' });
        await question.waitFor();
        t.same(await axe(phone.page), []);
        await question.getByRole('button', { name: 'Reopen' }).click();
        await phone.page.getByRole('button', { name: 'Acknowledge', exact: true }).waitFor();
        t.equal(await wide(), 0, 'the alert fits');
        t.match(JSON.parse((await send(rig.url, 'GET', '/alerts')).text), {
          alerts: [{ acknowledged: null }],
        });
        t.same(phone.wrong, []);
      },
    );

    await t.test('ledgers that differ, in words', async (t) => {
      const store = openHistoryStore({ dataDir: join(rig.folder, 'data'), database: null });
      t.teardown(() => store.close());
      const kept = openReconciliations(store);
      const shown = {
        here: 'the store of this test',
        there: `LiteLLM at ${HOSTILE}`,
        start_date: '2026-11-01',
        end_date: '2026-11-21',
        tolerance: '0.000000001 USD',
      };
      const period = { startMs: AT - 1, endMs: AT + 1 };
      const same = [entry('same', 1_000_000_000_000n)];
      const keep = async (id: string, atMs: number, there: readonly LedgerEntry[]): Promise<void> => {
        const result = reconcile(same, there, period, { pico: 1n });
        const value = keptReconciliation(result, shown, HOSTILE);
        await kept.put({ id, atMs }, () => ({ state: result.agrees ? 'agrees' : 'differs', value }));
      };
      await keep('rec_1', Date.now() - 86_400_000, same);
      await keep('rec_2', Date.now(), [entry('same', 3_000_000_000_000n), entry(HOSTILE, 500_000_000_000n)]);
      await page.goto(`${ui}spend`);
      await page.getByText('The ledgers differ in 2 of 2 calls').waitFor();
      await page.getByText('the gateway counts $2.50 more').waitFor();
      await page.getByText('1 only at the gateway').waitFor();
      await page.getByRole('link', { name: 'same', exact: true }).waitFor();
      t.same(await axe(page), []);
      await page.getByRole('link', { name: '2026-11-01 to 2026-11-21' }).last().click();
      await page.getByText('The ledgers agree on 1 call').waitFor();
      clean();
    });

    await t.test('on a phone, in German', async (t) => {
      const phone = await openPage(browser, ui, { viewport: PHONE, locale: 'de-DE' });
      t.teardown(() => phone.context.close());
      await phone.page.getByLabel(/^Schlüssel/).fill(KEY);
      await phone.page.keyboard.press('Enter');
      await signedIn(phone.page);
      for (const [place, text] of [
        ['system?tab=alerts', 'Weiches Budget erreicht'],
        ['spend', 'Die Bücher weichen bei 2 von 2 Aufrufen ab'],
      ] as const) {
        await visit(phone.page, `${ui}${place}`);
        await phone.page.getByText(text).first().waitFor();
        t.same(await axe(phone.page), [], place);
        const wide = await phone.page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
        t.equal(Math.max(0, wide), 0, `${place} fits`);
      }
      t.same(phone.wrong, []);
    });

    await t.test('a role that may not sees neither, and is told so by the server', async (t) => {
      const { key } = await managed(rig, 'POST /user/new', { user_id: 'u', user_role: 'internal_user' });
      const user = await openPage(browser, ui);
      t.teardown(() => user.context.close());
      await signIn(user.page, String(key));
      await signedIn(user.page);
      await user.page.goto(`${ui}spend`);
      await user.page.getByRole('heading', { name: 'By day' }).waitFor();
      t.equal(await user.page.getByText('Against the ledger of the gateway').count(), 0);
      const refused = await send(rig.url, 'GET', '/alerts', undefined, {
        authorization: `Bearer ${String(key)}`,
      });
      t.equal(refused.status, 403);
      t.same(user.wrong, []);
    });
  },
);
