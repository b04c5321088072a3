// Forms that are left by accident, in a real browser: a session that ends under one, Esc, the browser's Back.
import t from 'tap';
import { KEY, send, startRig } from '../../support/rig.ts';
import { axe, becomes, CHROMIUM, openConsole, signIn, visit, WITHOUT } from '../browser.ts';

t.test('leaving a form in a browser', { skip: CHROMIUM === null ? WITHOUT : false }, async (t) => {
  const rig = await startRig(t);
  const { ui, page, watched, clean } = await openConsole(t, rig.url);
  const form = page.locator('dialog.wide');
  const name = form.getByLabel(/^Name of the team/);
  const again = page.locator('dialog.required');
  const unsaved = form.getByText('What you changed here is not saved.');
  const focused = (): Promise<string> =>
    page.evaluate<string>('document.activeElement.labels?.[0]?.textContent ?? ""');
  const begin = async (text: string): Promise<void> => {
    await page.getByRole('button', { name: 'Create a team', exact: true }).click();
    await name.fill(text);
  };

  await t.test('a session that ends leaves the form as it is, under the sign-in', async (t) => {
    await visit(page, `${ui}teams`);
    await begin('Typed before');
    await watched.context.clearCookies();
    await again.getByText('Your session has ended.').waitFor();
    t.equal(await becomes(focused, 'Key'), 'Key', 'the key can be typed at once');
    t.same(await axe(page), [], 'the sign-in above the page');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+k');
    t.equal(await becomes(focused, 'Key'), 'Key', 'nothing but a key closes it');
    const told = page.waitForResponse((answer) => answer.url().endsWith('/chain') && answer.ok());
    await signIn(page, KEY);
    await again.waitFor({ state: 'detached' });
    await told;
    t.equal(await name.inputValue(), 'Typed before');
    t.match(await becomes(focused, 'Name of the team *'), /^Name of the team/, 'and typing goes on');
    await form.getByRole('button', { name: 'Save', exact: true }).click();
    await page.locator('dialog.drawer').getByText('Nobody is in this team.').waitFor();
    clean();
  });

  await t.test('a session that ends under the form of a thing that is there leaves it, too', async (t) => {
    await page.locator('dialog.drawer').getByRole('button', { name: 'Edit', exact: true }).click();
    await name.fill('Typed after');
    await watched.context.clearCookies();
    await again.waitFor();
    await signIn(page, KEY);
    await again.waitFor({ state: 'detached' });
    t.equal(await name.inputValue(), 'Typed after');
    await form.getByRole('button', { name: 'Save', exact: true }).click();
    await page.locator('dialog.drawer').getByRole('heading', { name: 'Typed after' }).waitFor();
    await page.keyboard.press('Escape');
    clean();
  });

  await t.test('for anybody else the page begins anew', async (t) => {
    const { text } = await send(rig.url, 'POST', '/key/generate', { key_alias: 'another' });
    const { key } = JSON.parse(text) as { key: string };
    await begin('Of somebody else');
    await watched.context.clearCookies();
    await again.waitFor();
    await signIn(page, key);
    await again.waitFor({ state: 'detached' });
    await page.getByTitle('another', { exact: true }).waitFor();
    await form.waitFor({ state: 'detached' });
    t.notOk((await page.content()).includes('Typed after'), 'nothing of what the first one saw');
    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
    await page.getByText('You have signed out.').waitFor();
    await signIn(page, KEY);
    await page.getByText('Typed after').waitFor();
    clean();
  });

  await t.test('Esc asks once, and not where nothing was changed', async (t) => {
    await page.getByRole('button', { name: 'Create a team', exact: true }).click();
    await name.waitFor();
    await page.keyboard.press('Escape');
    await form.waitFor({ state: 'detached' });
    await begin('Nearly lost');
    await page.keyboard.press('Escape');
    await unsaved.waitFor();
    t.same(await axe(page), [], 'the form that asks');
    await name.pressSequentially('!');
    await unsaved.waitFor({ state: 'detached' });
    t.equal(await name.inputValue(), 'Nearly lost!', 'who goes on typing is asked again');
    await page.keyboard.press('Escape');
    await unsaved.waitFor();
    await page.keyboard.press('Escape');
    await form.waitFor({ state: 'detached' });
    clean();
  });

  await t.test('Back asks once, and leaves the address with the form', async (t) => {
    await visit(page, `${ui}keys`);
    await page.waitForURL(`${ui}keys`);
    await visit(page, `${ui}teams`);
    await begin('Nearly lost');
    await page.evaluate('history.back()');
    await unsaved.waitFor();
    await page.waitForURL(`${ui}teams`);
    t.equal(await name.inputValue(), 'Nearly lost');
    await page.evaluate('history.back()');
    await page.waitForURL(`${ui}keys`);
    await form.waitFor({ state: 'detached' });
    await page.evaluate('history.forward()');
    await page.waitForURL(`${ui}teams`);
    clean();
  });
});
