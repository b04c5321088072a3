// Signing in through a real OpenID Connect provider with a real browser, behind a path prefix; the place survives.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Provider } from 'oidc-provider';
import type { Page } from 'playwright-core';
import t from 'tap';
import { defaultConfig, startRig } from '../../support/rig.ts';
import { CHROMIUM, launch, openPage, signedIn, WITHOUT } from '../browser.ts';
import { startFront } from '../front.ts';

const SECRET = 'a-secret-of-the-client-of-32-chars';

t.test('through a provider', { skip: CHROMIUM === null ? WITHOUT : false }, async (t) => {
  const front = await startFront(null, '/team/llm');
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, {
    clients: [
      { client_id: 'console', client_secret: SECRET, redirect_uris: [`${front.url}/ui/oidc/callback`] },
    ],
    claims: { openid: ['sub', 'groups', 'name'] },
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    findAccount: (_, sub) => ({
      accountId: sub,
      claims: () => ({ sub, name: `${sub} <b>`, groups: sub === 'ada' ? ['admins'] : [] }),
    }),
  });
  const handle = provider.callback();
  server.on('request', (request, response) => void handle(request, response));
  const rig = await startRig(t, {
    config: (demo) =>
      defaultConfig(
        demo,
        `  console:
    public_url: ${front.url}
    oidc:
      issuer: ${issuer}
      client_id: console
      client_secret: ${SECRET}
      name: Example Login
      roles: { admins: proxy_admin }
`,
      ),
  });
  front.target = rig.url;
  const browser = await launch(CHROMIUM ?? '');
  t.teardown(async () => {
    await browser.close();
    await front.close();
    server.closeAllConnections();
    server.close();
  });

  const logIn = async (page: Page, name: string): Promise<void> => {
    await page.locator('input[name=login]').fill(name);
    await page.locator('input[name=password]').fill('x');
    await page.locator('button[type=submit]').click();
    await page.getByText('Continue').click();
  };

  const through = async (name: string): Promise<Awaited<ReturnType<typeof openPage>>> => {
    const watched = await openPage(browser, `${front.url}/ui/system?tab=doctor`);
    const { page } = watched;
    // Its pages ask a host for fonts.
    await watched.context.route(
      (url) => url.hostname !== '127.0.0.1',
      (route) => route.abort(),
    );
    await page.getByRole('link', { name: 'Sign in with Example Login', exact: true }).click();
    await logIn(page, name);
    return watched;
  };

  const ada = await through('ada');
  await ada.page.getByRole('heading', { name: 'Doctor', exact: true }).waitFor();
  t.equal(ada.page.url(), `${front.url}/ui/system?tab=doctor`);
  await ada.page.getByTitle('ada <b>', { exact: true }).waitFor();

  await ada.context.clearCookies();
  const again = ada.page.locator('dialog.required');
  const [tab] = await Promise.all([
    ada.context.waitForEvent('page'),
    again.getByRole('link', { name: 'Sign in with Example Login', exact: true }).click(),
  ]);
  await logIn(tab, 'ada');
  await signedIn(tab);
  await tab.close();
  await ada.page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`);
  await again.waitFor({ state: 'detached' });
  t.pass('a session that ended is taken up in another tab, and the page stays');

  await ada.page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await ada.page.getByText('You have signed out.').waitFor();

  const eve = await through('eve');
  await eve.page.getByText('none of your groups may use this console').waitFor();
  await eve.page.waitForURL((url) => !url.search.includes('signin='));
  t.pass('it is said once');
});
