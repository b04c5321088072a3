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

const openPalette = async (page: Page): Promise<void> => {
  await page.locator('.verdict').waitFor();
  await page.keyboard.press('Control+k');
  await page.locator('.palette [role=option]').first().waitFor();
};
const openKeys = async (page: Page): Promise<void> => {
  await page.locator('.verdict').waitFor();
  await page.keyboard.press('?');
  await page.getByRole('dialog').waitFor();
};

export const SCENES: readonly Scene[] = [
  { name: 'overview', place: 'overview' },
  { name: 'palette', place: 'overview', act: openPalette },
  { name: 'keys', place: 'overview', act: openKeys },
  { name: 'system', place: 'system' },
  { name: 'system-configuration', place: 'system?tab=configuration' },
  { name: 'system-doctor', place: 'system?tab=doctor', act: runDoctor },
];
