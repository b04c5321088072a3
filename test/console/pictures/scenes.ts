// What is pictured: a line each.
import type { Page } from 'playwright-core';

interface Scene {
  readonly name: string;
  /** Below `ui/`. */
  readonly place: string;
  /** What is done before the picture. */
  readonly act?: (page: Page) => Promise<void>;
}

const runDoctor = async (page: Page): Promise<void> => {
  await page.getByRole('button', { name: 'Run' }).click();
  await page.locator('.doctor-verdict').waitFor();
};

const openFirst = async (page: Page): Promise<void> => {
  await page.locator('[data-row]').first().click();
  await page.locator('dialog').waitFor();
};

export const SCENES: readonly Scene[] = [
  { name: 'overview', place: 'overview' },
  { name: 'calls', place: 'calls' },
  { name: 'calls-call', place: 'calls', act: openFirst },
  { name: 'sessions', place: 'sessions' },
  { name: 'sessions-conversation', place: 'sessions', act: openFirst },
  { name: 'spend', place: 'spend' },
  { name: 'system', place: 'system' },
  { name: 'system-configuration', place: 'system?tab=configuration' },
  { name: 'system-doctor', place: 'system?tab=doctor', act: runDoctor },
];
