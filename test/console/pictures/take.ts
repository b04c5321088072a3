// Takes the pictures of the console in docs/images/console: every page in both themes, and at phone width, with real traffic.
//   npm run screenshots                       all of them
//   npm run screenshots -- --only overview    those whose name begins so
//   npm run screenshots -- --out /tmp/look    elsewhere
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Page } from 'playwright-core';
import { KEY } from '../../support/rig.ts';
import { CHROMIUM, launch, openPage, PHONE, signIn, WITHOUT } from '../browser.ts';
import { converse, startChain } from './chain.ts';
import { people } from './people.ts';
import { killMarked } from '../../platform/fixture/sandbox-processes.ts';
import { PLATFORM, runAgents } from './agents.ts';
import { acknowledgeOne, reconcileTwice, startOperators } from './operators.ts';
import { SCENES } from './scenes.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    out: { type: 'string', default: join(import.meta.dirname, '../../../docs/images/console') },
  },
});
if (CHROMIUM === null) throw new Error(WITHOUT);

const ends: (() => unknown)[] = [];
const DESK = { width: 1440, height: 900 };

async function settle(page: Page): Promise<void> {
  await page.locator('.page, .login, .state').first().waitFor();
  await page.locator('.loading').first().waitFor({ state: 'detached' });
}

try {
  mkdirSync(values.out, { recursive: true });
  const t = { teardown: (act: () => unknown) => void ends.push(act) };
  const operators = await startOperators(t);
  const { rig, another } = await startChain(t, `${PLATFORM}${operators.alerts}`, operators.router);
  ends.push(() => killMarked(join(rig.folder, 'data')));
  await converse(rig, 2, await people(rig));
  await runAgents(rig);
  await another();
  await reconcileTwice(rig);
  await acknowledgeOne(rig);
  const doings = { moreCalls: () => converse(rig, 1) };
  const browser = await launch(CHROMIUM);
  ends.push(() => browser.close());
  const scenes = SCENES.filter(({ name }) => name.startsWith(values.only));
  for (const scheme of ['light', 'dark'] as const) {
    const { page } = await openPage(browser, `${rig.url}/ui/`, { viewport: DESK, colorScheme: scheme });
    await page.getByLabel('Key', { exact: true }).waitFor();
    if ('login'.startsWith(values.only))
      await page.screenshot({ path: join(values.out, `login-${scheme}.png`) });
    await signIn(page, KEY);
    await settle(page);
    for (const { name, place, act } of scenes) {
      await page.goto(`${rig.url}/ui/${place}`);
      await settle(page);
      await act?.(page, doings);
      await page.screenshot({ path: join(values.out, `${name}-${scheme}.png`) });
    }
    if (scheme === 'dark') continue;
    await page.setViewportSize(PHONE);
    for (const { name, place, act } of scenes) {
      await page.goto(`${rig.url}/ui/${place}`);
      await settle(page);
      await act?.(page, doings);
      await page.screenshot({ path: join(values.out, `${name}-phone.png`) });
    }
  }
} finally {
  for (const end of ends.toReversed()) await end();
}
