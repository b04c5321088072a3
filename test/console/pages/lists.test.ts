// What lists and their filters show, in a real browser: a filter begins at the first page, blanks between words, pages that
// fit their window, days that are UTC whatever the clock of the page, the day that begins while the page is open.
import t from 'tap';
import type { DemoGateway } from '../../../proxy/demo-gateway/demo-gateway.ts';
import { chat, KEY, send, startRig } from '../../support/rig.ts';
import {
  becomes,
  CHROMIUM,
  counted,
  openConsole,
  openPage,
  PHONE,
  signIn,
  visit,
  WITHOUT,
} from '../browser.ts';

const config = (demo: DemoGateway): string => `
model_list:
  - model_name: good
    litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}", input_cost_per_token: 0.001 }
general_settings:
  master_key: ${KEY}
`;

const DAY_MS = 86_400_000;

t.test('lists in a browser', { skip: CHROMIUM === null ? WITHOUT : false }, async (t) => {
  const rig = await startRig(t, { config });
  const { browser, ui, page, clean } = await openConsole(t, rig.url);
  const make = (path: string, body: object): Promise<unknown> => send(rig.url, 'POST', path, body);

  await t.test('a filter shows its list from the beginning', async (t) => {
    await page.goto('about:blank'); // the list would be read again after each of them
    for (let i = 0; i < 60; i++) await make('/key/generate', { key_alias: `many-${i}` });
    await page.goto(`${ui}keys?page=2`);
    await page.getByText('Page 2 of 2').waitFor();
    await page.getByRole('searchbox', { name: 'Alias (whole) or hash' }).fill('many-59');
    await page.locator('[data-row]').getByText('many-59', { exact: true }).waitFor();
    t.equal(await counted(page.locator('[data-row]'), 1), 1);
    await page.goto(`${ui}keys?page=2`);
    await page.getByText('Page 2 of 2').waitFor();
    await page.getByLabel('State').selectOption('active');
    await page.getByText('Page 1 of 2').waitFor();
    clean();
  });

  await t.test('a page beyond the end of its list says so and leads back', async (t) => {
    await page.goto(`${ui}keys?page=7`);
    await page.getByText('The list ends before this page.').waitFor();
    t.equal(await page.getByText('There is no key yet.').count(), 0);
    t.equal(await page.getByText('Page 7 of').count(), 0);
    await page.getByRole('link', { name: 'To its last page', exact: true }).click();
    await page.getByText('Page 2 of 2').waitFor();
    clean();
  });

  await t.test('a gateway of the overview leads to its models', async (t) => {
    const api_base = 'https://elsewhere.example.com';
    await make('/model/new', { model_name: 'far', litellm_params: { model: 'litellm_proxy/far', api_base } });
    await visit(page, `${ui}overview`);
    await page.getByRole('link', { name: /elsewhere\.example\.com/ }).click();
    await page.getByText('1 of 2').waitFor();
    await page.locator('[data-row]').getByText('far', { exact: true }).waitFor();
    await page.getByRole('link', { name: /^Remove the filter Gateway/ }).click();
    t.equal(await counted(page.locator('[data-row]'), 2), 2);
    clean();
  });

  await t.test('a team of thousands opens with the first of its members', async (t) => {
    const members = Array.from({ length: 2_000 }, (_, n) => ({ role: 'user', user_id: `member-${n}` }));
    const { text } = await send(rig.url, 'POST', '/team/new', { members_with_roles: members });
    const { team_id: id } = JSON.parse(text) as { readonly team_id: string };
    await visit(page, `${ui}teams?id=${id}`);
    const rows = page.locator('dialog.drawer [data-row]');
    await page.getByText('The first 500 of 2,000').waitFor();
    t.equal(await rows.count(), 500);
    await page.getByRole('button', { name: 'Show more', exact: true }).click();
    await page.getByText('The first 1,000 of 2,000').waitFor();
    t.equal(await rows.count(), 1_000);
    clean();
  });

  await t.test('a name of two words can be typed with a pause between them', async (t) => {
    await make('/team/new', { team_alias: 'Red Team' });
    await visit(page, `${ui}teams`);
    const name = page.getByRole('searchbox', { name: 'Name of a team (whole)' });
    await name.pressSequentially('Red ');
    await page.waitForURL(`${ui}teams?q=Red`);
    await name.pressSequentially('Team');
    await page.waitForURL(`${ui}teams?q=Red+Team`);
    t.equal(await name.inputValue(), 'Red Team');
    await page.locator('[data-row]').getByText('Red Team', { exact: true }).waitFor();
    clean();
  });

  await t.test('no page is wider than a small window', async (t) => {
    for (const place of ['calls', 'spend?by=api_key', 'keys', 'system?tab=configuration'])
      for (const viewport of [{ width: 1024, height: 768 }, PHONE]) {
        if (place === 'calls') await chat(rig, 'good');
        await page.setViewportSize(viewport);
        await visit(page, `${ui}${place}`);
        await page.locator('[data-row]').first().waitFor();
        if (place.startsWith('spend')) await page.locator('.u-legend').waitFor();
        const isWide = await page.evaluate<boolean>('document.documentElement.scrollWidth > innerWidth');
        t.notOk(isWide, `${place} at ${viewport.width}`);
      }
    clean();
  });

  await t.test('a list shows the columns that it has room for, and none beyond its edge', async (t) => {
    const beyond = `[...document.querySelectorAll('.virtual, .table-scroll')]
      .some((one) => one.scrollWidth > one.clientWidth)`;
    const headings = page.locator('[role=columnheader], th').filter({ visible: true });
    for (const [place, width, columns] of [
      ['calls', 1280, 11],
      ['calls', 1024, 7],
      ['calls', 768, 4],
      ['calls', 390, 4],
      ['keys', 768, 3],
      ['keys', 390, 3],
    ] as const) {
      await page.setViewportSize({ width, height: 800 });
      await visit(page, `${ui}${place}`);
      await page.locator('[data-row]').first().waitFor();
      t.equal(await counted(headings, columns), columns, `${place} at ${width}`);
      t.notOk(await page.evaluate<boolean>(beyond), `${place} at ${width} does not scroll sideways`);
    }
    clean();
  });

  await t.test('days of sums are UTC in the chart too, and the next one begins by itself', async (t) => {
    const nextDayMs = (Math.floor(Date.now() / DAY_MS) + 1) * DAY_MS;
    const [today, tomorrow] = [nextDayMs - DAY_MS, nextDayMs].map((ms) =>
      new Date(ms).toISOString().slice(0, 10),
    );
    const watched = await openPage(browser, ui, { timezoneId: 'America/New_York' });
    t.teardown(() => watched.context.close());
    await watched.page.clock.install({ time: nextDayMs - 60_000 });
    await watched.page.goto(`${ui}spend?span=today`);
    await signIn(watched.page, KEY);
    await watched.page.getByText(`${today}, UTC`).waitFor();
    await watched.page.keyboard.press('u');
    await watched.page.getByText('UTC-').waitFor();
    const chart = watched.page.locator('.chart .u-over');
    await chart.hover();
    const legend = watched.page.locator('.u-legend .u-value').first();
    t.equal(await becomes(async () => (await legend.textContent()) ?? '', today ?? ''), today);
    await watched.page.clock.runFor(120_000);
    await watched.page.getByText(`${tomorrow}, UTC`).waitFor();
    t.same(watched.wrong, []);
  });
});
