// A real browser for the tests of the console: Debian's Chromium, started once a file. Every page is watched: what its policy
// reports, what it throws, which hosts it asks.
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import {
  chromium,
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type Locator,
  type Page,
} from 'playwright-core';
import type { Test } from 'tap';
import { beforeNextLook } from '../support/patience.ts';
import { KEY } from '../support/rig.ts';

/** A busy machine never comes near it, and a hang still ends with a sentence. */
const PATIENCE_MS = Number(process.env['PATIENCE_MS'] ?? 120_000);

const PATHS = [process.env['CHROMIUM_BIN'] ?? '', '/usr/bin/chromium', '/usr/bin/chromium-browser'];

/** null = this machine has none. */
export const CHROMIUM = PATHS.find((path) => path !== '' && existsSync(path)) ?? null;

export const WITHOUT = 'there is no Chromium here (apt-get install chromium, or set CHROMIUM_BIN)';

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--force-color-profile=srgb',
  // No page lives long enough to earn back what the optimizing compilers cost: a tenth of all its CPU.
  '--js-flags=--no-opt,--no-maglev',
];

export function launch(executablePath: string): Promise<Browser> {
  return chromium.launch({ executablePath, headless: true, args: FLAGS, timeout: PATIENCE_MS });
}

/** A page, and what went wrong in it so far. */
export interface Watched {
  readonly context: BrowserContext;
  readonly page: Page;
  readonly wrong: readonly string[];
  /** What it has asked for. */
  readonly requests: readonly string[];
}

export const PHONE = { width: 390, height: 844 };

// Scripts of pages are text here: the types of this program know no browser.
const REPORTS = `document.addEventListener('securitypolicyviolation', (event) =>
  reportViolation([event.violatedDirective, event.blockedURI, event.sourceFile, event.lineNumber].join(' ')));`;

export async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<Watched> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    locale: 'en-US',
    reducedMotion: 'reduce',
    ...options,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const wrong: string[] = [];
  const requests: string[] = [];
  page.on('pageerror', (error) => wrong.push(`threw: ${error.stack ?? error.message}`));
  page.on('dialog', (dialog) => {
    if (dialog.type() === 'beforeunload') return void dialog.accept(); // a form in which something was changed
    wrong.push(`a script opened a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('console', (message) => {
    const text = message.text();
    // Answers that the page shows as a state are told by the browser too.
    if (message.type() === 'error' && !text.startsWith('Failed to load resource'))
      wrong.push(`console: ${text}`);
  });
  page.on('request', (request) => {
    requests.push(request.url());
    if (new URL(request.url()).host !== new URL(url).host) wrong.push(`asks another host: ${request.url()}`);
  });
  await page.exposeFunction('reportViolation', (text: string) => wrong.push(`policy: ${text}`));
  await page.addInitScript({ content: REPORTS });
  await page.goto(url);
  return { context, page, wrong, requests };
}

/**
 * Reads until it is what it should be: a page changes some time after the key or the click, and what it asks of the proxy
 * comes later still.
 * @returns what was read last
 */
export async function becomes<T>(read: () => Promise<T>, expected: T): Promise<T> {
  for (const endsMs = performance.now() + PATIENCE_MS; ;) {
    const value = await read();
    if (value === expected || performance.now() > endsMs) return value;
    await beforeNextLook();
  }
}

/** How many there are, once it is so many. */
export const counted = (what: Locator, expected: number): Promise<number> =>
  becomes(() => what.count(), expected);

/** A command of two letters. The page forgets the first one after a second, in which a busy machine may send none. */
export async function keysInOneTurn(page: Page, ...keys: readonly string[]): Promise<void> {
  const events = keys.map(
    (key) =>
      `new KeyboardEvent('keydown', { key: '${key}', code: 'Key${key.toUpperCase()}', bubbles: true })`,
  );
  await page.evaluate(`for (const event of [${events.join(', ')}]) document.body.dispatchEvent(event);`);
}

/** Goes to a place of the console as by a link: without a load, which costs ten times as much. */
export async function visit(page: Page, url: string): Promise<void> {
  await page.evaluate(`(async () => {
    const link = Object.assign(document.createElement('a'), { href: ${JSON.stringify(url)} });
    document.body.append(link);
    link.click();
    link.remove();
    await new Promise(requestAnimationFrame); // the page that was is gone
    await new Promise(requestAnimationFrame);
  })()`);
}

/** Types a key into the sign-in form. */
export async function signIn(page: Page, key: string): Promise<void> {
  await page.getByLabel('Key', { exact: true }).fill(key);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

/** The page after a sign-in. A heading would not tell: the form has one too, and keys or links that come before its answer are lost. */
export const signedIn = (page: Page): Promise<void> => page.locator('main#page').waitFor();

/** A name that tries to be markup. */
export const HOSTILE = `"><img src=x onerror=alert(1)>`;

/** The console of a proxy in a browser of its own, signed in with the master key. `clean` asserts that nothing went wrong in it. */
export async function openConsole(t: Test, proxyUrl: string) {
  const browser = await launch(CHROMIUM ?? '');
  t.teardown(() => browser.close());
  const ui = `${proxyUrl}/ui/`;
  const watched = await openPage(browser, ui);
  const { page } = watched;
  await signIn(page, KEY);
  await signedIn(page);
  const clean = (): void => void t.same(watched.wrong, [], 'no report, no error, no other host');
  return { browser, ui, watched, page, clean };
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What the other theme can change. */
const COLOURS = ['color-contrast', 'link-in-text-block'];
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

interface AxeResult {
  readonly violations: readonly {
    readonly id: string;
    readonly nodes: readonly { readonly target: readonly unknown[]; readonly failureSummary?: string }[];
  }[];
}

/** Runs axe on a page whose old data are not dimmed while new ones come: what is on its way out may be hard to read. */
const settledAxe = (rules: readonly string[]): string => `(async () => {
  let isDimmed = false;
  const look = () => (isDimmed ||= document.querySelector('.dimmed') !== null);
  const observer = new MutationObserver(look);
  observer.observe(document, { subtree: true, attributeFilter: ['class'], childList: true });
  for (;;) {
    while (document.querySelector('.dimmed') !== null) await new Promise(requestAnimationFrame);
    isDimmed = false;
    const result = await axe.run(document, { runOnly: ${JSON.stringify(rules)}, resultTypes: ['violations'] });
    if (result.violations.length > 0 && isDimmed) continue;
    observer.disconnect();
    return result;
  }
})()`;

/** What axe-core finds on the page as it is now, a line each. */
export async function axe(page: Page, only: 'all' | 'colours' = 'all'): Promise<readonly string[]> {
  if (!(await page.evaluate<boolean>("'axe' in globalThis"))) await page.evaluate(AXE);
  const { violations } = await page.evaluate<AxeResult>(settledAxe(only === 'all' ? RULES : COLOURS));
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id} ${target.join(' ')}: ${failureSummary ?? ''}`),
  );
}
