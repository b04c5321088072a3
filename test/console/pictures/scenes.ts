// What is pictured: a line each.
import type { Page } from 'playwright-core';

interface Scene {
  readonly name: string;
  /** Below `ui/`. */
  readonly place: string;
  /** What is done before the picture. */
  readonly act?: (page: Page, doings: Doings) => Promise<void>;
}

/** What a scene may have done to the proxy. */
interface Doings {
  readonly moreCalls: () => Promise<void>;
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

const openFirst = async (page: Page): Promise<void> => {
  await page.locator('[data-row]').first().click();
  await page.locator('dialog').waitFor();
};

const addModel = async (page: Page): Promise<void> => {
  await page.getByRole('button', { name: 'Add a model' }).click();
  await page.getByLabel(/^Name/).last().fill('team-gpt');
  await page.getByLabel('Provider', { exact: true }).selectOption('custom');
  await page.getByLabel(/^Model at the gateway/).fill('gpt-5');
  await page.getByLabel(/^Address/).fill('https://gateway.example.com');
  await page.getByText('Advanced Options').click();
};

const createKey = async (page: Page): Promise<void> => {
  await page.getByRole('button', { name: 'Create a key' }).click();
  await page.getByLabel('Alias', { exact: true }).fill('nightly-triage');
  await page.getByLabel(/^Budget, US dollars/).fill('50');
  await page.getByText('Limits', { exact: true }).last().click();
};

const addProfile = async (page: Page): Promise<void> => {
  await page.getByRole('button', { name: 'Add a profile' }).click();
  await page.getByLabel(/^Name/).fill('nightly');
  await page
    .getByLabel(/^Model/)
    .last()
    .fill('litellm_proxy/claude-haiku-4-5');
  await page.getByText('Advanced Options').click();
  await page.getByLabel(/^Extra Headers/).fill('{ "X-OpenHands-Project": "triage", }');
};

const headersShown = async (page: Page): Promise<void> => {
  await page.getByText('X-OpenHands-Project').waitFor();
};

const explained = async (page: Page): Promise<void> => {
  await page.getByText('Client headers are forwarded').waitFor();
};

/** Somebody reads further down while calls come. */
const followLive = async (page: Page, { moreCalls }: Doings): Promise<void> => {
  await page.locator('[data-row]').first().waitFor();
  await page.locator('.virtual').hover();
  await page.mouse.wheel(0, 400);
  await page.getByText('Live goes on at the top').waitFor();
  await moreCalls();
  await page.locator('.calls-new').waitFor();
};

const compared = async (page: Page): Promise<void> => {
  await page.locator('.reconciled-earlier').scrollIntoViewIfNeeded();
};

const serversShown = async (page: Page): Promise<void> => {
  await page.getByText('this one').first().waitFor();
};

const alertsShown = async (page: Page): Promise<void> => {
  await page.locator('[data-row]').first().waitFor();
};

/** The bottom of the form: where a call would go. */
const previewModel = async (page: Page): Promise<void> => {
  await addModel(page);
  await page.getByRole('button', { name: /^Use https/ }).click();
  await page.getByLabel(/^Custom LLM extra HTTP headers/).fill('{ "x-team": "agents" }');
  await page.locator('.models-preview-headers').scrollIntoViewIfNeeded();
};

export const SCENES: readonly Scene[] = [
  { name: 'overview', place: 'overview' },
  { name: 'palette', place: 'overview', act: openPalette },
  { name: 'shortcuts', place: 'overview', act: openKeys },
  { name: 'calls', place: 'calls' },
  { name: 'calls-live', place: 'calls', act: followLive },
  { name: 'calls-call', place: 'calls', act: openFirst },
  { name: 'sessions', place: 'sessions' },
  { name: 'sessions-conversation', place: 'sessions', act: openFirst },
  { name: 'spend', place: 'spend' },
  { name: 'spend-reconciled', place: 'spend', act: compared },
  { name: 'models', place: 'models' },
  { name: 'models-model', place: 'models', act: openFirst },
  { name: 'models-add', place: 'models', act: addModel },
  { name: 'models-preview', place: 'models', act: previewModel },
  { name: 'budgets', place: 'budgets' },
  { name: 'keys', place: 'keys' },
  { name: 'keys-key', place: 'keys?q=ci-review', act: openFirst },
  { name: 'keys-create', place: 'keys', act: createKey },
  { name: 'teams', place: 'teams' },
  { name: 'teams-team', place: 'teams?id=platform' },
  { name: 'users', place: 'users' },
  { name: 'users-user', place: 'users?id=ada' },
  { name: 'explain', place: 'explain?model=claude-sonnet-4-5', act: explained },
  { name: 'platform', place: 'platform' },
  { name: 'platform-profile', place: 'platform?id=Research', act: headersShown },
  { name: 'platform-add', place: 'platform', act: addProfile },
  { name: 'platform-conversations', place: 'platform?tab=conversations' },
  { name: 'platform-conversation', place: 'platform?tab=conversations', act: openFirst },
  { name: 'platform-sandboxes', place: 'platform?tab=sandboxes' },
  { name: 'system', place: 'system' },
  { name: 'system-servers', place: 'system', act: serversShown },
  { name: 'system-alerts', place: 'system?tab=alerts', act: alertsShown },
  { name: 'system-alert', place: 'system?tab=alerts', act: openFirst },
  { name: 'system-alert-acknowledged', place: 'system?tab=alerts&acknowledged=true', act: openFirst },
  { name: 'system-configuration', place: 'system?tab=configuration' },
  { name: 'system-doctor', place: 'system?tab=doctor', act: runDoctor },
];
