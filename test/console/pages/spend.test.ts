// Money in a real browser: what the days before say of a group that they do not name, the list of all budgets whole, cut and in
// part, and the first call as a command.
import { execFileSync } from 'node:child_process';
import t from 'tap';
import type { Page } from 'playwright-core';
import type { DemoGateway } from '../../../proxy/demo-gateway/demo-gateway.ts';
import { chat, KEY, send, startRig } from '../../support/rig.ts';
import { axe, becomes, CHROMIUM, counted, openConsole, WITHOUT } from '../browser.ts';

const config = (demo: DemoGateway): string => `
model_list:
  - model_name: it's good
    litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}", input_cost_per_token: 0.001 }
general_settings:
  master_key: ${KEY}
`;

const BUDGETS = 510;

/** The last word that a shell hands to `curl`. */
const lastWord = (command: string): string =>
  execFileSync('sh', ['-c', `curl() { for word do :; done; printf %s "$word"; }\n${command}`], {
    encoding: 'utf8',
  });

t.test('money in a browser', { skip: CHROMIUM === null ? WITHOUT : false }, async (t) => {
  const rig = await startRig(t, { config });
  const { ui, page, clean } = await openConsole(t, rig.url);

  await t.test('the first call can be pasted into a shell', async (t) => {
    await page.goto(`${ui}overview`);
    const command = (await page.locator('.command code').textContent()) ?? '';
    t.match(JSON.parse(lastWord(command)), { model: "it's good", messages: [{ role: 'user' }] });
    clean();
  });

  await t.test('a group is new only where the days before are known to be without it', async (t) => {
    await chat(rig, "it's good");
    await page.goto(`${ui}spend?span=today`);
    const cell = page.locator('[data-row] td').nth(3);
    const said = async (): Promise<string> => (await cell.textContent()) ?? '';
    t.equal(await becomes(said, 'new'), 'new');
    const { total } = JSON.parse((await send(rig.url, 'GET', '/spend/sums')).text) as {
      total: { spend: string };
    };
    const cases: readonly (readonly [before: Before, expected: string])[] = [
      ['hangs', '–'],
      ['fails', '–'],
      [{ rows: [], more: true }, '–'],
      [{ rows: [{ model_group: "it's good", spend: total.spend }], more: true }, '0%'],
      [{ rows: [{ model_group: "it's good", spend: '1000' }], more: false }, '−100%'],
    ];
    for (const [before, expected] of cases) {
      await answerBefore(page, before);
      await page.goto(`${ui}spend?span=today`);
      await page.getByRole('heading', { name: 'By model', exact: true }).waitFor();
      t.equal(await becomes(said, expected), expected, JSON.stringify(before));
      await page.unroute('**/spend/sums?*');
    }
    clean();
  });

  await t.test('a single day stands in the middle of its chart', async (t) => {
    await page.goto(`${ui}spend?span=today`);
    const isDrawn = `(() => {
      const canvas = document.querySelector('.chart canvas');
      const { left, top, width, height } = canvas.nextElementSibling.getBoundingClientRect();
      const box = canvas.getBoundingClientRect();
      const [x, y] = [left - box.left + width / 2 - 10, top - box.top + height * 0.75 + 5];
      const ratio = canvas.width / box.width;
      return canvas.getContext('2d').getImageData(x * ratio, y * ratio, 1, 1).data[3] > 0;
    })()`;
    await page.locator('.chart .u-over').waitFor();
    t.equal(await becomes(() => page.evaluate<boolean>(isDrawn), true), true);
    clean();
  });

  await t.test('a list of budgets that is not whole says so, and is read again on request', async (t) => {
    await page.goto('about:blank');
    const made = Array.from({ length: BUDGETS }, (_, i) =>
      send(rig.url, 'POST', '/key/generate', { key_alias: `key-${i}`, max_budget: 5 }),
    );
    await Promise.all(made);
    await page.route('**/spend/budgets?*page=2*', (route) =>
      route.fulfill({ status: 503, json: { error: { message: 'Not now.' } } }),
    );
    await page.goto(`${ui}budgets`);
    await page.getByText('Page 2 of 2 could not be read').waitFor();
    await page.getByText('Not now.').waitFor();
    t.equal(await counted(page.locator('[data-row]'), 300), 300);
    t.same(await axe(page), [], 'in part');
    await page.unroute('**/spend/budgets?*page=2*');
    await page.getByRole('button', { name: 'Try again', exact: true }).click();
    await page.getByText(`The first 500 of ${BUDGETS}`).waitFor();
    t.equal(await page.getByText('could not be read').count(), 0);
    t.equal(await counted(page.locator('[data-row]'), 500), 500);
    await page.getByRole('button', { name: 'Show more', exact: true }).click();
    t.equal(await counted(page.locator('[data-row]'), BUDGETS), BUDGETS, 'the rest by a click');
    await page.getByRole('searchbox', { name: 'Name or id' }).fill('key-50');
    t.equal(await counted(page.locator('[data-row]'), 11), 11, 'key-50 and key-500 to key-509');
    t.equal(await page.getByText('The first 500').count(), 0);
    clean();
  });
});

type Before = 'hangs' | 'fails' | { readonly rows: readonly object[]; readonly more: boolean };

/** What the proxy says of the days before today. */
async function answerBefore(page: Page, before: Before): Promise<void> {
  await page.route('**/spend/sums?*', async (route) => {
    const today = new Date().toISOString().slice(0, 10);
    if (new URL(route.request().url()).searchParams.get('end_date') === today) return route.continue();
    if (before === 'hangs') return undefined;
    if (before === 'fails') return route.fulfill({ status: 503, json: { error: { message: 'Not now.' } } });
    return route.fulfill({ json: { ...before, whose: 'all', total: { spend: '0' } } });
  });
}
