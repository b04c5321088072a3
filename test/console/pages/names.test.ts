// Names and amounts that are hard to show, in a real browser: names without an end, names that would read as another one,
// amounts far below a cent.
import type { Page } from 'playwright-core';
import t from 'tap';
import type { DemoGateway } from '../../../proxy/demo-gateway/demo-gateway.ts';
import { chat, KEY, send, startRig } from '../../support/rig.ts';
import { becomes, CHROMIUM, openConsole, PHONE, visit, WITHOUT } from '../browser.ts';

const LONG = `long-${'x'.repeat(195)}`;

const config = (demo: DemoGateway): string => `
model_list:
  - model_name: cheap
    litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}", input_cost_per_token: 0.000001 }
  - model_name: ${LONG}
    litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}", input_cost_per_token: 0.000001 }
general_settings:
  master_key: ${KEY}
`;

/** Keeps what is written on canvases: the axes of charts. */
const WRITTEN = `globalThis.written = [];
const { fillText } = CanvasRenderingContext2D.prototype;
CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
  globalThis.written.push(text);
  return fillText.call(this, text, ...rest);
};`;

/** Of an element, in the browser. */
const of = <T>(page: Page, selector: string, expression: string): Promise<T> =>
  page.evaluate<T>(`((one) => ${expression})(document.querySelector(${JSON.stringify(selector)}))`);

const isCut = (page: Page, selector: string): Promise<boolean> =>
  of<boolean>(page, selector, 'one.scrollWidth > one.clientWidth');

t.test('names and amounts in a browser', { skip: CHROMIUM === null ? WITHOUT : false }, async (t) => {
  const rig = await startRig(t, { config });
  const make = async (path: string, body: object): Promise<void> => {
    const { status, text } = await send(rig.url, 'POST', path, body);
    t.equal(status, 200, `${path} ${status === 200 ? '' : text}`);
  };
  const { ui, page, watched, clean } = await openConsole(t, rig.url);

  await t.test('a page asks nothing of a brake that is off', async (t) => {
    await chat(rig, 'cheap', {}, { 'x-litellm-session-id': 'short' });
    await visit(page, `${ui}sessions`);
    await page.locator('[data-row]').getByText('short', { exact: true }).click();
    await page.locator('dialog.drawer').getByText('Calls in order').waitFor();
    await page.keyboard.press('Escape');
    t.same(
      watched.requests.filter((url) => url.includes('/conversations/')),
      [],
    );
    clean();
  });

  await t.test('a long name takes no room from what stands beside it', async (t) => {
    const body = { user: LONG, metadata: { tags: [LONG] } };
    await chat(rig, LONG, body, { 'x-litellm-session-id': LONG });
    const limited = { max_budget: 1, models: [LONG] };
    await make('/key/generate', { key_alias: LONG, ...limited });
    await make('/team/new', { team_alias: LONG, ...limited });
    await make('/user/new', { user_id: LONG, user_alias: LONG, auto_create_key: false, ...limited });
    const places = ['sessions', 'keys', 'teams', 'users', 'budgets', 'models', 'spend'];
    for (const viewport of [{ width: 1280, height: 800 }, PHONE]) {
      await page.setViewportSize(viewport);
      for (const place of [...places, 'spend?by=tag', 'spend?by=end_user', 'spend?by=session']) {
        await visit(page, `${ui}${place}`);
        await page.locator('[data-row]', { hasText: 'xxxx' }).first().waitFor();
        t.equal(await isCut(page, '.table-scroll'), false, `${place} at ${viewport.width}`);
        const texts = page.locator('[data-row] [title]', { hasText: 'xxxx' }).first();
        t.equal(await texts.getAttribute('title'), LONG, `${place} has the whole of it`);
      }
    }
    await page.setViewportSize({ width: 1280, height: 800 });
    await visit(page, `${ui}sessions`);
    const cell = `[data-row] .cut[title="${LONG}"]`;
    await page.locator(cell).waitFor();
    t.equal(await isCut(page, cell), true);
    const row = page.locator('[data-row]', { hasText: 'xxxx' });
    await row.focus();
    const isFirst = (await row.getAttribute('data-row')) === '0';
    await page.keyboard.press(isFirst ? 'ArrowDown' : 'ArrowUp');
    await page.locator('[data-row]:focus', { hasText: 'short' }).waitFor();
    await page.keyboard.press(isFirst ? 'ArrowUp' : 'ArrowDown');
    t.equal(
      await becomes(() => isCut(page, cell), false),
      false,
      'the row that has the focus shows all of it',
    );
    await visit(page, `${ui}sessions?id=${LONG}`);
    await page.locator('dialog.drawer .id code').waitFor();
    t.equal(await isCut(page, 'dialog.drawer .id code'), false, 'and where it is open');
    await page.keyboard.press('Escape');
    clean();
  });

  await t.test('a name that turns the order of letters shows that it does', async (t) => {
    const name = 'ab\u202edc\u200b';
    await make('/team/new', { team_alias: name });
    await make('/key/generate', { key_alias: name });
    for (const place of ['teams', 'keys']) {
      await visit(page, `${ui}${place}`);
      const shown = page.locator('[data-row]').getByText('ab⟨U+202E⟩dc⟨U+200B⟩', { exact: true });
      await shown.waitFor();
      t.equal(await shown.getAttribute('title'), 'ab⟨U+202E⟩dc⟨U+200B⟩');
      t.equal(await of<string>(page, '[data-row] strong', 'getComputedStyle(one).unicodeBidi'), 'plaintext');
      await shown.click();
      const drawer = page.locator('dialog.drawer');
      await drawer.getByRole('button', { name: 'Delete', exact: true }).click();
      await page.getByRole('heading', { name: /^Delete .*ab⟨U\+202E⟩dc/ }).waitFor();
      t.notMatch(await page.content(), /[\u202e\u200b]/, place);
      await page.keyboard.press('Escape');
      await drawer.getByRole('button', { name: 'Edit', exact: true }).click();
      const field = page.locator('dialog.wide input').first();
      t.equal(await field.inputValue(), name, 'what is changed is what is there');
      await page.keyboard.press('Escape');
      await page.keyboard.press('Escape');
    }
    clean();
  });

  await t.test('a name that reads from right to left is cut at its end', async (t) => {
    const name = 'مرحبا بالعالم '.repeat(12).trim();
    const { key } = JSON.parse((await send(rig.url, 'POST', '/key/generate', { key_alias: name })).text) as {
      readonly key: string;
    };
    await visit(page, `${ui}keys?q=${encodeURIComponent(name)}`);
    const cell = `[data-row] .cut[title="${name}"]`;
    await page.locator(cell).waitFor();
    t.equal(await isCut(page, cell), true);
    const first = `(() => {
      const range = document.createRange();
      range.setStart(one.firstChild, 0);
      range.setEnd(one.firstChild, 1);
      const [letter, box] = [range.getBoundingClientRect(), one.getBoundingClientRect()];
      return letter.left >= box.left - 1 && letter.right <= box.right + 1;
    })()`;
    t.equal(await of<boolean>(page, cell, first), true, 'its first letter is seen');
    await make('/key/delete', { keys: [key] });
    clean();
  });

  await t.test('amounts below a cent are told apart', async (t) => {
    await make('/team/new', { team_alias: 'poor', max_budget: 0.00002 });
    await make('/key/generate', { key_alias: 'near', max_budget: 0.00002, spend: 0.00001 });
    await visit(page, `${ui}teams`);
    const row = page.locator('[data-row]', { hasText: 'poor' });
    await row.getByText('/ $0.00002').waitFor();
    await row.getByText('$0.00', { exact: true }).waitFor();
    await visit(page, `${ui}keys`);
    await page.locator('[data-row]', { hasText: 'near' }).getByText('$0.00001', { exact: true }).waitFor();
    await visit(page, `${ui}budgets`);
    const budget = page.locator('[data-row]', { hasText: 'near' });
    await budget.getByRole('cell', { name: '$0.00002', exact: true }).waitFor();
    await page.evaluate(WRITTEN);
    await visit(page, `${ui}spend`);
    await page.locator('.u-legend').waitFor();
    const written = await page.evaluate<string[]>('globalThis.written');
    const ticks = new Set(written.filter((text) => text.includes('$')));
    t.ok(ticks.size > 2, [...ticks].join(' '));
    t.notOk(
      [...ticks].some((text) => text.startsWith('<')),
      [...ticks].join(' '),
    );
    clean();
  });
});
