// Forms that are left by accident, in a real browser: a session that ends under one, Esc, the browser's Back. What a session
// leaves behind that is signed out in another tab.
import t from 'tap';
import { KEY, send, startRig } from '../../support/rig.ts';
import { axe, becomes, CHROMIUM, openConsole, signedIn, signIn, visit, WITHOUT } from '../browser.ts';

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

  await t.test(
    'signing out in another tab empties this one: its lists, its form, what it has read',
    async (t) => {
      const other = await watched.context.newPage();
      await other.goto(`${ui}overview`);
      await signedIn(other);
      await page.evaluate(`window.isThisDocument = true`); // it was never loaded anew
      await begin('Typed under a list');
      await page.locator('[data-row]').getByText('Typed after').waitFor();
      await other.getByRole('button', { name: 'Sign out', exact: true }).click();
      await page.getByText('You have signed out.').waitFor();
      t.equal(await page.locator('dialog').count(), 0);
      t.notMatch(await page.content(), /Typed/, 'nothing of what was shown or typed');
      t.equal(await page.evaluate('window.isThisDocument'), true);
      const released = Promise.withResolvers<void>();
      await page.route('**/v2/team/list?*', async (route) => {
        await released.promise;
        await route.continue().catch(() => undefined); // the page has given it up
      });
      const asked = page.waitForRequest('**/v2/team/list?*');
      await signIn(page, KEY);
      await signedIn(page);
      await asked;
      t.notMatch(await page.content(), /Typed/, 'the list is read again before anything of it is shown');
      released.resolve();
      await page.locator('[data-row]').getByText('Typed after').waitFor();
      await page.unroute('**/v2/team/list?*');
      await other.close();
      clean();
    },
  );

  await t.test('a session that had run out before keeps nothing either when it is signed out', async (t) => {
    const other = await watched.context.newPage();
    await other.goto(`${ui}overview`);
    await signedIn(other);
    await begin('Typed before both');
    await watched.context.clearCookies();
    await again.waitFor();
    await signIn(other, KEY);
    await other.locator('dialog.required').waitFor({ state: 'detached' });
    await other.getByRole('button', { name: 'Sign out', exact: true }).click();
    await page.getByText('You have signed out.').waitFor();
    t.equal(await page.locator('dialog').count(), 0);
    t.notMatch(await page.content(), /Typed/);
    await signIn(page, KEY);
    await page.locator('[data-row]').getByText('Typed after').waitFor();
    t.equal(await form.count(), 0, 'the page begins anew');
    await other.close();
    clean();
  });

  await t.test('signing out empties the page although the proxy does not answer afterwards', async (t) => {
    await page.route('**/ui/session', (route) =>
      route.request().method() === 'GET' ? route.abort() : route.continue(),
    );
    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
    await page.getByText('The proxy does not answer.').waitFor();
    t.notMatch(await page.content(), /Typed/);
    await page.unroute('**/ui/session');
    await signIn(page, KEY);
    await page.locator('[data-row]').getByText('Typed after').waitFor();
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
