// The list of calls in a real browser: new ones as they come, counted while somebody reads something else; and a hundred
// thousand of them, from one end to the other, in the same few nodes and the same memory.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Page } from 'playwright-core';
import t from 'tap';
import { chat, defaultConfig, KEY, send, startRig } from '../../support/rig.ts';
import { axe, CHROMIUM, launch, openPage, signedIn, signIn, WITHOUT } from '../browser.ts';

const ROWS = 100_000;
/** So far apart, they are of less than a day. */
const APART_MS = 700;

t.test('the list of calls', { skip: CHROMIUM === null ? WITHOUT : false }, async (t) => {
  const rig = await startRig(t, { config: (demo) => defaultConfig(demo) });
  const browser = await launch(CHROMIUM ?? '');
  t.teardown(() => browser.close());
  const ui = `${rig.url}/ui/`;
  const watched = await openPage(browser, ui);
  const { page } = watched;
  const call = (session: string) => chat(rig, 'demo', {}, { 'x-litellm-session-id': session });
  const row = (session: string) => page.locator('[data-row]').filter({ hasText: session });
  await call('copied');
  await send(rig.url, 'GET', '/spend/rows'); // it is in the store
  multiply(join(rig.folder, 'data/throughline.db'));
  await signIn(page, KEY);
  await signedIn(page);
  await page.goto(`${ui}calls`);
  await page.locator('[data-row]').first().waitFor();

  await t.test('new calls come by themselves, and wait while somebody reads something else', async (t) => {
    await call('live-one');
    await row('live-one').waitFor();
    t.equal(await row('live-one').getAttribute('data-row'), '0', 'on top');
    await page.getByRole('button', { name: 'Live' }).click();
    await call('live-two');
    await page.getByRole('button', { name: '1 new' }).waitFor();
    await call('live-three');
    await page.getByRole('button', { name: '2 new' }).waitFor();
    t.equal(await row('live-two').count(), 0, 'not while it is paused');
    t.same(await axe(page), []);
    await page.getByRole('button', { name: '2 new' }).click();
    await row('live-three').waitFor();
    await page.getByRole('button', { name: 'Paused' }).click();
    await call('live-four');
    await row('live-four').waitFor();
    // Further down nothing moves.
    await scroll(page, 1_000);
    const seen = await rowAtTop(page);
    await call('live-five');
    await page.getByRole('button', { name: '1 new' }).waitFor();
    t.equal(await rowAtTop(page), seen);
    await page.getByRole('button', { name: '1 new' }).click();
    await row('live-five').waitFor();
    t.equal(await row('live-five').getAttribute('data-row'), '0');
  });

  await t.test('a hundred thousand scroll', async (t) => {
    const counts = { nodes: 0, rows: 0 };
    const look = async (what: string): Promise<void> => {
      const { blank, nodes, rows } = await page.evaluate<Look>(LOOK);
      t.equal(blank, 0, `${what}: no blank area`);
      counts.nodes = Math.max(counts.nodes, nodes);
      counts.rows = Math.max(counts.rows, rows);
    };
    await scroll(page, 0);
    await look('at the top');
    // By the wheel through some thousands, further than what is kept, and back.
    await page.mouse.move(600, 500);
    const times = new Set<string>();
    for (let n = 0; n < 12; n += 1) {
      await nextRows(page, () => scrollToEnd(page));
      times.add((await page.locator('[data-row] time').last().getAttribute('title')) ?? '');
      await look(`wheel ${n}`);
    }
    t.equal(times.size, 12, 'older ones each time');
    const before = await rowAtTop(page);
    await page.mouse.wheel(0, -640);
    await page.locator('.virtual').evaluate('(element) => new Promise(requestAnimationFrame)');
    t.not(await rowAtTop(page), before, 'and back up');
    await look('back');
    // By keys to either end.
    await page.locator('[data-row]').nth(10).focus();
    await page.keyboard.press('End');
    await page.getByText('These are all.').waitFor();
    await page.locator('[data-row]:focus').filter({ hasText: 'copied' }).waitFor();
    await look('at the end');
    const oldest = await page.locator('[data-row] time').last().getAttribute('title');
    t.equal(oldest, await oldestOf(rig.url), 'the oldest of all');
    await page.keyboard.press('PageUp');
    await look('up from the end');
    await page.keyboard.press('Home');
    await row('live-five').waitFor();
    await page.locator('[data-row="0"]:focus').waitFor();
    await look('at the top again');
    t.ok(counts.nodes < 3_000, `${counts.nodes} nodes`);
    t.ok(counts.rows <= 1_000, `${counts.rows} rows are kept`);
    await call('live-six');
    await row('live-six').waitFor();
    t.same(watched.wrong, []);
  });
});

/** The one row of a store a hundred thousand times, each a little older. */
function multiply(file: string): void {
  const db = new DatabaseSync(file, { timeout: 10_000 });
  const columns = db
    .prepare(`SELECT name FROM pragma_table_info('spend')`)
    .all()
    .map(({ name }) => String(name));
  const shifted = (name: string): string =>
    name.endsWith('_ms') && name !== 'request_duration_ms' ? `${name} - n * ${APART_MS}` : name;
  const values = columns.map((name) =>
    name === 'request_id' ? `printf('00000000-0000-7000-8000-%012d', n)` : shifted(name),
  );
  db.exec(`WITH RECURSIVE counted(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < ${ROWS})
    INSERT INTO spend (${columns.join(', ')}) SELECT ${values.join(', ')} FROM spend, counted`);
  db.close();
}

async function oldestOf(url: string): Promise<string> {
  const { text } = await send(url, 'GET', '/spend/rows?limit=1&after=0-0');
  const { rows } = JSON.parse(text) as { rows: readonly { startTime: string }[] };
  return (rows[0]?.startTime ?? '').slice(0, 19).replace('T', ' ');
}

interface Look {
  /** Pixels of the list that no row covers. */
  readonly blank: number;
  readonly nodes: number;
  /** As many as the page has here, drawn or not. */
  readonly rows: number;
}

// The part of the scroller that lies between its heading and its end, against the rows that are drawn there.
const LOOK = `(async () => {
  await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  const list = document.querySelector('.virtual');
  const box = list.getBoundingClientRect();
  const head = list.querySelector('.head').getBoundingClientRect();
  const boxes = [...list.querySelectorAll('[data-row]')].map((row) => row.getBoundingClientRect());
  const end = list.querySelector('.end-note').getBoundingClientRect();
  const first = Math.min(...boxes.map(({ top }) => top));
  const last = Math.max(...boxes.map(({ bottom }) => bottom));
  const blank = Math.max(0, first - head.bottom - 1) + Math.max(0, Math.min(box.bottom, end.top) - last - 1);
  const rows = Math.round(list.querySelector('.rows').getBoundingClientRect().height / 32);
  return { blank, nodes: document.querySelectorAll('*').length, rows };
})()`;

const scroll = (page: Page, top: number): Promise<void> =>
  page.evaluate(`document.querySelector('.virtual').scrollTop = ${top}; new Promise(requestAnimationFrame)`);

const rowAtTop = (page: Page): Promise<string> =>
  page.evaluate<string>(`(() => {
    const head = document.querySelector('.virtual .head').getBoundingClientRect();
    const at = document.elementFromPoint(head.left + 40, head.bottom + 4).closest('[data-row]');
    return at.textContent;
  })()`);

/** Does something that makes the page read further rows, and waits until they are there. */
async function nextRows(page: Page, act: () => Promise<void>): Promise<void> {
  const answer = page.waitForResponse((response) => /spend\/rows\?.*(?:before|after)=/.test(response.url()));
  await act();
  await (await answer).finished();
}

async function scrollToEnd(page: Page): Promise<void> {
  const height = await page.evaluate<number>(`document.querySelector('.virtual').scrollHeight`);
  await page.mouse.wheel(0, height);
}
