// Plays a day in the real web page against a fresh server with real agent servers, and takes the pictures of docs/images. Ends
// with an error when a call of the page fails or the page throws.
//   node test/platform/pictures/take.ts --build DIR/build --venv DIR [--chromium /usr/bin/chromium] [--out docs/images]
// DIR/build is that of @openhands/agent-canvas 1.20; DIR of --venv has openhands-agent-server (docs/openhands.md).
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { chromium, type Page } from 'playwright-core';
import { servePage } from '../../../docs/examples/platform-page.ts';
import { SESSION_KEY, startPlatform } from '../fixture/rig.ts';

const { values } = parseArgs({
  options: {
    build: { type: 'string' },
    venv: { type: 'string' },
    chromium: { type: 'string', default: '/usr/bin/chromium' },
    out: { type: 'string', default: join(import.meta.dirname, '../../../docs/images') },
  },
});
const { build, venv } = values;
if (build === undefined || venv === undefined) throw new Error('--build and --venv are needed');

/** For a machine that does other work too. */
const PATIENCE_MS = 120_000;
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
const MODELS = (url: string): string => `
  - model_name: claude-sonnet
    litellm_params: { model: litellm_proxy/demo, api_base: "${url}", api_key: sk-upstream-secret }`;
const SPECS = `
  sandbox: { start_timeout_seconds: 300, isolation: none, stop_with_server: true }
  sandbox_specs:
    - id: openhands
      command: ["${join(venv, 'bin/python')}", -m, openhands.agent_server, --host, 127.0.0.1, --port, "{port}"]
      working_dir: "{sandbox_dir}/workspace"
      initial_env: { LITELLM_LOCAL_MODEL_COST_MAP: "True", OH_ENABLE_VSCODE: "0", OH_ENABLE_BROWSER: "0" }
      health_path: /ready
      conversations_path: /api/conversations`;

const ends: (() => unknown)[] = [];
const wrong: string[] = [];

async function day(): Promise<void> {
  const rig = await startPlatform(
    { teardown: (act) => void ends.push(act) },
    { platform: SPECS, models: MODELS },
  );
  const server = await servePage({ build: String(build), api: rig.url, port: 0 });
  ends.push(() => server.close());
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const profileDir = mkdtempSync(join(tmpdir(), 'pictures-'));
  ends.push(() => rmSync(profileDir, { recursive: true, force: true }));
  const browser = await chromium.launchPersistentContext(profileDir, {
    executablePath: values.chromium,
    headless: true,
    viewport: { width: 1280, height: 800 },
    args: FLAGS,
  });
  ends.push(() => browser.close());
  const page = browser.pages()[0] ?? (await browser.newPage());
  page.setDefaultTimeout(PATIENCE_MS);
  // Fonts, icons and counters of other hosts.
  await browser.route(
    (url) => url.hostname !== '127.0.0.1',
    (route) => route.abort(),
  );
  watch(page);
  await page.addInitScript(
    ([host = '', key = '']) => {
      if (localStorage.getItem('openhands-backends') !== null) return;
      const backend = { id: 'throughline', name: 'Throughline', host, apiKey: key, kind: 'cloud' };
      localStorage.setItem('openhands-backends', JSON.stringify([backend]));
      localStorage.setItem('openhands-active-backend', JSON.stringify({ backendId: backend.id }));
      localStorage.setItem('openhands-onboarded', '1');
      localStorage.setItem('openhands-telemetry-consent', 'denied');
      localStorage.setItem('openhands-sidebar-onboarding-checklist-dismissed', 'true');
    },
    [origin, SESSION_KEY],
  );
  await rig.api('POST', '/api/v1/settings', { language: 'en' });
  for (const [name, model] of [
    ['Default', 'claude-sonnet'],
    ['Small', 'demo'],
  ] as const)
    await rig.api('POST', `/api/v1/settings/profiles/${name}`, { llm: { model } });
  await rig.api('POST', '/api/v1/settings/profiles/Default/activate', {});
  await rig.api('POST', '/api/agent-profiles/Coder', { llm_profile_ref: 'Default' });

  const own = page.waitForResponse((response) => response.url().endsWith('/me'));
  await page.goto(origin);
  await own;
  await settle(page);
  await visit(page, `${origin}/settings/app`, 'platform-settings');
  await visit(page, `${origin}/settings/llm`, 'platform-profiles');
  await visit(page, `${origin}/settings/agents`);
  await visit(page, `${origin}/settings/secrets`);
  await visit(page, `${origin}/skills`);
  await visit(page, `${origin}/mcp`);
  await visit(page, origin);

  await say(page, 'Say what you see in this folder.');
  await page.getByText('Hello from demo').first().waitFor();
  await page.waitForURL(/\/conversations\/[0-9a-f]+/);
  await say(page, 'Thank you. Anything else?');
  await page.getByText('Hello from demo').nth(2).waitFor(); // the title is the first
  await menu(page, 'rename-button');
  await page.getByTestId('conversation-name-input').fill('A look around');
  await page.keyboard.press('Enter');
  await page.getByTestId('conversation-name-title').getByText('A look around').waitFor();
  await menu(page, 'display-cost-button');
  await page.getByTestId('usage-panel').getByText('$').first().waitFor();
  await page.getByTestId('conversation-card-title').getByText('A look around').waitFor();
  await page.getByText('updated successfully').waitFor({ state: 'hidden' });
  await page.screenshot({ path: join(values.out, 'platform-conversation.png') });
  await menu(page, 'delete-button');
  await page.getByRole('button', { name: 'Confirm Delete' }).click();
  await page.getByText('No conversations found').waitFor();
}

/** Picks an entry of the menu beside the conversation's name. */
async function menu(page: Page, entry: string): Promise<void> {
  await page.getByTestId('conversation-name').locator('button').first().click();
  await page.getByTestId(entry).first().click();
}

async function say(page: Page, text: string): Promise<void> {
  const composer = page.locator('[contenteditable=true], textarea').first();
  await composer.click();
  await page.keyboard.type(text);
  await page.keyboard.press('Enter');
}

/** Notes every answer that is an error, and everything that the page throws. */
function watch(page: Page): void {
  page.on('pageerror', (error) => wrong.push(`the page threw: ${error.message}`));
  page.on('response', (response) => {
    const url = new URL(response.url());
    if (response.status() >= 400)
      wrong.push(`${response.status()} ${response.request().method()} ${url.pathname}${url.search}`);
  });
}

/** Until the page has asked nothing for half a second, or asks again and again. */
async function settle(page: Page): Promise<void> {
  await page.waitForLoadState('networkidle', { timeout: 10_000 }).catch(() => undefined);
}

async function visit(page: Page, url: string, picture?: string): Promise<void> {
  await page.goto(url);
  await settle(page);
  if (picture !== undefined) await page.screenshot({ path: join(values.out, `${picture}.png`) });
}

try {
  await day();
} catch (error) {
  wrong.push((error as Error).message);
} finally {
  for (const end of ends.toReversed()) await end();
}
for (const line of wrong) process.stderr.write(`${line}\n`);
process.exitCode = wrong.length === 0 ? 0 : 1;
