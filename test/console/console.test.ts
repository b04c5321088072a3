// The console in a real browser, behind a path prefix: sign-in, the overview with real traffic, the system page, and what no
// page may do. Each page is watched for reports of its policy, thrown errors and requests to other hosts.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import t from 'tap';
import type { Chain } from '../../console/api/types.ts';
import type { DemoGateway } from '../../proxy/demo-gateway/demo-gateway.ts';
import { chat, KEY, send, startRig } from '../support/rig.ts';
import {
  axe,
  becomes,
  CHROMIUM,
  counted,
  keysInOneTurn,
  launch,
  openPage,
  PHONE,
  signedIn,
  signIn,
  visit,
  WITHOUT,
  type Watched,
} from './browser.ts';
import { startFront } from './front.ts';

/** What a careless page would run. */
const HOSTILE = `"><img src=x onerror=alert(1)><script>alert(2)</script>`;

/** Every text of an answer says it. */
function hostile<T>(value: T): T {
  const text = JSON.stringify(value, (name, one: unknown) =>
    typeof one === 'string' && !FIXED.has(name) ? HOSTILE : one,
  );
  return JSON.parse(text) as T;
}

/** Words of a closed set, and times. */
const FIXED = new Set([
  'at',
  'since',
  'state',
  'level',
  'end',
  'day',
  'as_of',
  'started_at',
  'id',
  'gateway',
]);

const config = (demo: DemoGateway): string => `
model_list:
  - model_name: good
    litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}", api_key: sk-upstream-secret }
  - model_name: broken
    litellm_params: { model: openai/acme/demo-500, api_base: "${demo.url}/compat/v1", api_key: sk-upstream-secret }
  - model_name: ${JSON.stringify(HOSTILE)}
    litellm_params: { model: openai/acme/demo, api_base: "${demo.url}/compat/v1", api_key: sk-upstream-secret }
general_settings:
  master_key: ${KEY}
`;

t.test('the console in a browser', { skip: CHROMIUM === null ? WITHOUT : false }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'throughline-console-'));
  let rig = await startRig(t, { config, folder });
  const front = await startFront(rig.url, '/team/llm');
  const browser: Browser = await launch(CHROMIUM ?? '');
  t.teardown(async () => {
    await browser.close();
    await front.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const ui = `${front.url}/ui/`;
  const opened: Watched[] = [];
  const open = async (path: string, ...rest: [Parameters<typeof openPage>[2]?]): Promise<Watched> => {
    const one = await openPage(browser, `${ui}${path}`, ...rest);
    opened.push(one);
    return one;
  };
  const clean = (one: Watched): void => void t.same(one.wrong, [], 'no report, no error, no other host');

  await t.test('signing in and out', async (t) => {
    const watched = await open('system?tab=doctor');
    const { page, context } = watched;
    await page.getByRole('heading', { name: 'Throughline', exact: true }).waitFor();
    t.same(await axe(page), [], 'the form is accessible');
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByText('Enter a key.').waitFor();
    await signIn(page, 'sk-wrong-key-of-nobody');
    await page.getByText('This key is not known here.').waitFor();
    await signIn(page, KEY);
    await page.getByRole('heading', { name: 'Doctor', exact: true }).waitFor();
    t.equal(page.url(), `${ui}system?tab=doctor`, 'the place survives the sign-in');
    const cookies = await context.cookies();
    t.same(
      cookies.map(({ httpOnly }) => httpOnly),
      cookies.map(() => true),
      'no script reads a cookie',
    );
    const kept = await page.evaluate<string>(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }]) + document.documentElement.outerHTML',
    );
    t.notMatch(kept, KEY, 'the key is nowhere in the page');
    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
    await page.getByText('You have signed out.').waitFor();
    await page.reload();
    await page.getByLabel('Key', { exact: true }).waitFor();
    clean(watched);
    await context.close();
  });

  const main = await open('');
  const { page } = main;
  await signIn(page, KEY);
  await signedIn(page);

  await t.test('the overview shows what is called, and which gateway fails', async (t) => {
    for (let i = 0; i < 4; i++) await chat(rig, 'good');
    for (let i = 0; i < 4; i++) await chat(rig, 'broken');
    await page.getByRole('link', { name: /^good Serving [1-9]/ }).waitFor();
    await page.getByRole('link', { name: /^broken .*[1-9]\d* ?% faults/ }).waitFor();
    await page.getByText(HOSTILE).first().waitFor();
    t.equal(await counted(page.locator('.figure'), 4), 4);
    clean(main);
  });

  await t.test('the first page is small', async (t) => {
    const sizes = await page.evaluate<number[]>(
      `performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('.js')).map((one) => one.encodedBodySize)`,
    );
    const sum = sizes.reduce((all, one) => all + one, 0);
    t.ok(sizes.length > 0 && sum > 0);
    t.ok(sum < 60_000, `${sum} bytes of script for the overview`);
  });

  await t.test('every page is accessible, in both themes and on a phone', async (t) => {
    const places = ['overview', 'system', 'system?tab=configuration', 'system?tab=doctor', 'no-such-page'];
    for (const place of places) {
      await page.goto(`${ui}${place}`);
      await page.locator('.page .panel, .state').first().waitFor();
      t.same(await axe(page), [], place);
      await page.emulateMedia({ colorScheme: 'dark' });
      t.same(await axe(page, 'colours'), [], `${place}, in the dark`);
      await page.emulateMedia({ colorScheme: 'light' });
    }
    await page.keyboard.press('?');
    await page.getByRole('dialog').waitFor();
    t.same(await axe(page), [], 'the list of keys');
    await page.keyboard.press('Escape');
    await page.setViewportSize(PHONE);
    for (const place of ['overview', 'system?tab=configuration']) {
      await visit(page, `${ui}${place}`);
      await page.locator('.page .panel').first().waitFor();
      if (place === 'overview') t.same(await axe(page), [], `${place} on a phone`);
      const isWide = await page.evaluate<boolean>('document.documentElement.scrollWidth > innerWidth');
      t.notOk(isWide, `${place} does not scroll sideways`);
    }
    await page.getByRole('button', { name: 'Open the menu', exact: true }).click();
    await page.getByRole('link', { name: 'System', exact: true }).waitFor();
    t.same(await axe(page), [], 'the menu of a phone');
    await page.setViewportSize({ width: 1280, height: 800 });
    clean(main);
  });

  await t.test('everything goes by keys', async (t) => {
    await page.goto(`${ui}overview`);
    await signedIn(page);
    await page.keyboard.press('Tab');
    const focused = (): Promise<string> => page.evaluate<string>('document.activeElement.textContent');
    t.equal(await becomes(focused, 'Skip to the page'), 'Skip to the page');
    await page.keyboard.press('Enter');
    t.equal(await becomes(() => page.evaluate<string>('document.activeElement.id'), 'page'), 'page');
    await keysInOneTurn(page, 'g', 'y');
    await page.waitForURL(`${ui}system`);
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Page, model or id', exact: true }).waitFor();
    await page.locator('[role=combobox]:focus').waitFor();
    await page.keyboard.type('over');
    await page.getByRole('option', { name: /^Overview/, selected: true }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(`${ui}overview`);
    await page.keyboard.press('u');
    await page.goBack();
    await page.waitForURL(`${ui}system`);
    clean(main);
  });

  await t.test('German, kept over a reload', async (t) => {
    await page.goto(`${ui}overview`);
    await page.getByLabel('Language').selectOption('de');
    await page
      .getByRole('heading', { name: 'Kommt jeder Aufruf durch und wird aufgezeichnet?', exact: true })
      .waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Kette', exact: true }).waitFor();
    t.equal(await page.evaluate<string>('document.documentElement.lang'), 'de');
    await page.getByLabel('Sprache').selectOption('en');
    await page.getByRole('heading', { name: 'Chain', exact: true }).waitFor();
    clean(main);
  });

  await t.test('the doctor, and the configuration without its secrets', async (t) => {
    await visit(page, `${ui}system?tab=doctor`);
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.locator('.doctor-verdict').waitFor();
    await visit(page, `${ui}system?tab=configuration`);
    await page.getByRole('table', { name: 'Settings in force', exact: true }).waitFor();
    t.notMatch(await page.content(), /sk-upstream-secret|sk-test-master-key/);
    clean(main);
  });

  await t.test('each state says what it is', async (t) => {
    const answer = await send(rig.url, 'GET', '/chain');
    const chain = JSON.parse(answer.text) as Chain;
    const { ledger, proxy, reload } = chain;
    const states: readonly (readonly [what: string, sentence: string, answer: unknown, status?: number])[] = [
      [
        'journal',
        'Calls are not being recorded',
        { ...chain, ledger: { ...ledger, writable: false, reason: HOSTILE } },
      ],
      ['store', 'The store does not answer.', { ...chain, ledger: { ...ledger, store_reachable: false } }],
      ['at risk', '3 records are in memory only', { ...chain, ledger: { ...ledger, rows_at_risk: 3 } }],
      ['draining', 'This proxy is stopping', { ...chain, proxy: { ...proxy, draining: true } }],
      [
        'reload',
        'The last change of the configuration was refused',
        { ...chain, reload: { ...reload, result: 'refused' } },
      ],
      [
        'in force',
        '2020-02-03',
        { ...chain, reload: { ...reload, at: '2021-02-03T12:00:00Z', since: '2020-02-03T12:00:00Z' } },
      ],
      [
        'own time',
        'median 18 ms · 2 ms own time',
        {
          ...chain,
          traffic: { ...chain.traffic, first_byte_ms: { p50: 18, p95: 300 } },
          proxy: { ...proxy, overhead_ms: { p50: 2, p95: 180 } },
        },
      ],
      [
        'silent',
        'worker 2 did not answer',
        { ...chain, proxy: { ...proxy, workers: { configured: 3, serving: 2, silent: [2] } } },
      ],
      [
        'no models',
        'No model is configured.',
        { ...chain, gateways: [], deployments: [], deployments_total: 0 },
      ],
      ['hostile', `"><img`, hostile(chain)],
      ['stale', 'As of ', { error: { message: HOSTILE, code: 'internal_error' } }, 500],
      ['forbidden', 'This page is not for your role.', { error: { message: HOSTILE } }, 403],
    ];
    let shown: { readonly status: number; readonly json: unknown } = { status: 200, json: chain };
    let held: Promise<void> | null = null;
    await page.route('**/chain', async (route) => {
      await held;
      await route.fulfill(shown).catch(() => undefined); // the page has given it up
    });
    await page.goto(`${ui}overview`);
    await page.getByRole('heading', { name: 'Chain', exact: true }).waitFor();
    for (const [what, sentence, json, status = 200] of states) {
      shown = { status, json };
      await page.keyboard.press('r');
      await page.getByText(sentence).first().waitFor();
      if (status !== 200 || what === 'hostile') t.same(await axe(page), [], what);
    }
    shown = { status: 500, json: { error: { message: HOSTILE, code: 'internal_error' } } };
    await page.goto(`${ui}overview`);
    await page.getByText('The proxy failed at this').waitFor();
    t.same(await axe(page), [], 'nothing but an error');
    // The page asks again by itself, too: nothing is answered until the button was pressed.
    const released = Promise.withResolvers<void>();
    held = released.promise;
    const again = page.getByRole('button', { name: 'Try again', exact: true });
    await again.click();
    await again.waitFor({ state: 'detached' });
    shown = { status: 200, json: chain };
    released.resolve();
    await page.getByRole('heading', { name: 'Chain', exact: true }).waitFor();
    await page.unroute('**/chain');
    clean(main);
  });

  await t.test('a role that may not', async (t) => {
    const { text } = await send(rig.url, 'POST', '/key/generate', { key_alias: HOSTILE });
    const { key } = JSON.parse(text) as { key: string };
    const watched = await open('system');
    await signIn(watched.page, key);
    await watched.page.getByText('This page is not for your role.').waitFor();
    await watched.page.getByTitle(HOSTILE, { exact: true }).waitFor();
    t.same(await axe(watched.page), []);
    clean(watched);
    await watched.context.close();
  });

  await t.test('a proxy that goes away and comes back under the open page', async (t) => {
    await page.goto(`${ui}overview`);
    await page.getByRole('heading', { name: 'Chain', exact: true }).waitFor();
    front.target = null;
    await page.getByText('The proxy does not answer.').waitFor();
    await page.getByRole('heading', { name: 'Chain', exact: true }).waitFor();
    t.same(await axe(page), [], 'while it is away');
    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
    await page.getByText('You are still signed in').waitFor();
    await visit(page, `${ui}budgets`);
    await page.getByText('The proxy did not send this page.').waitFor();
    await page.getByRole('button', { name: 'Try again', exact: true }).click();
    await page.locator('.toast', { hasText: 'The proxy does not answer.' }).waitFor();
    t.same(await axe(page), [], 'a page that was not opened before');
    await rig.stop();
    rig = await startRig(t, { config, folder });
    front.target = rig.url;
    await page.locator('.banner', { hasText: 'The proxy does not answer.' }).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Try again', exact: true }).click();
    await page.getByText('Nothing has a budget.').waitFor();
    await visit(page, `${ui}overview`);
    await page.getByRole('heading', { name: 'Chain', exact: true }).waitFor();
    clean(main);
  });
});
