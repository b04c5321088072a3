// Signing in through a real OpenID Connect provider, and everything that goes wrong on the way.
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Provider } from 'oidc-provider';
import t from 'tap';
import { freePort } from '../../../support/free-port.ts';
import { managed } from '../../../support/manage.ts';
import { codeOf, PageClient, type PageAnswer } from '../../../support/page-client.ts';
import { defaultConfig, startRig, type Rig } from '../../../support/rig.ts';

const SECRET = 'a-secret-of-the-client-of-32-chars';

interface TestProvider {
  readonly issuer: string;
  /** Groups by the name that somebody signs in with. */
  readonly groups: Record<string, unknown>;
  readonly server: Server;
  /** Codes that were exchanged. */
  readonly exchanged: number;
  /** Changes the nonce of the next authorization request. */
  spoilNonce(): void;
}

/** A browser at the provider: follows its redirects with its cookies, signs in, agrees. */
async function throughProvider(start: string, name: string): Promise<string> {
  const cookies = new Map<string, string>();
  let [url, form]: [string, URLSearchParams | null] = [start, null];
  for (let steps = 0; steps < 12; steps += 1) {
    const response = await fetch(url, {
      redirect: 'manual',
      method: form === null ? 'GET' : 'POST',
      headers: { cookie: [...cookies].map((pair) => pair.join('=')).join('; ') },
      ...(form === null ? {} : { body: form }),
    });
    for (const set of response.headers.getSetCookie()) {
      const [, key = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      cookies.set(key, value);
    }
    const location = response.headers.get('location');
    if (location !== null) {
      const next = new URL(location, url);
      if (next.pathname === '/ui/oidc/callback') return next.href;
      [url, form] = [next.href, null];
      continue;
    }
    const text = await response.text();
    const action = /<form[^>]*action="([^"]+)"/.exec(text)?.[1];
    const prompt = /name="prompt" value="([^"]+)"/.exec(text)?.[1];
    if (action === undefined || prompt === undefined) throw new Error(`the provider says ${text}`);
    url = new URL(action, url).href;
    form = new URLSearchParams({ prompt, login: name, password: 'x' });
  }
  throw new Error('the provider sends the browser in circles');
}

async function startProvider(
  teardown: (act: () => unknown) => void,
  redirectUri: string,
  port = 0,
): Promise<TestProvider> {
  const server = createServer();
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  teardown(() => server.close());
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const groups: Record<string, unknown> = {};
  let [exchanged, isSpoilt] = [0, false];
  const provider = new Provider(issuer, {
    clients: [{ client_id: 'console', client_secret: SECRET, redirect_uris: [redirectUri] }],
    claims: { openid: ['sub', 'groups', 'name'] },
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    findAccount: (_, sub) => ({
      accountId: sub,
      claims: () => ({ sub, name: `${sub} <b>`, groups: groups[sub] ?? [] }),
    }),
  });
  provider.on('grant.success', () => (exchanged += 1));
  const handle = provider.callback();
  server.on('request', (request, response) => {
    if (isSpoilt && request.url?.startsWith('/auth?') === true) {
      request.url = request.url.replace(/nonce=[\w-]+/, 'nonce=another');
      isSpoilt = false;
    }
    void handle(request, response);
  });
  return {
    issuer,
    groups,
    server,
    get exchanged() {
      return exchanged;
    },
    spoilNonce: () => (isSpoilt = true),
  };
}

const located = ({ headers }: PageAnswer): string => String(headers.location);

t.test('through a provider', async (t) => {
  const [port, away] = [await freePort(), await freePort()];
  // What browsers reach is named in the file, and does not have to be the port here.
  const publicUrl = 'http://127.0.0.1:9';
  const redirectUri = `${publicUrl}/ui/oidc/callback`;
  const settings = (issuer: string): string =>
    `  console:\n    public_url: ${publicUrl}\n    oidc:\n      issuer: ${issuer}\n` +
    `      client_id: console\n      client_secret: ${SECRET}\n` +
    '      roles: { admins: proxy_admin, finance: proxy_admin_viewer, devs: internal_user }\n';
  const rig: Rig = await startRig(t, {
    config: (demo) => defaultConfig(demo, settings(`http://127.0.0.1:${port}`)),
  });
  const get = (page: PageClient, path: string): Promise<PageAnswer> =>
    page.call('GET', path, undefined, { 'sec-fetch-site': 'cross-site' });
  const begin = (page: PageClient, to = ''): Promise<PageAnswer> => get(page, `/ui/oidc/login${to}`);
  const back = (page: PageClient, url: string): Promise<PageAnswer> =>
    get(page, `/ui/oidc/callback${new URL(url).search}`);

  await t.test('a provider that is down is no reason not to start, nor to stay out for ever', async (t) => {
    const page = new PageClient(rig.url);
    const answer = await begin(page);
    t.equal(answer.status, 302);
    t.equal(located(answer), '../?signin=unavailable');
    t.equal((await page.call('GET', '/ui/session')).status, 200);
  });

  const provider = await startProvider((act) => t.teardown(act), redirectUri, port);
  Object.assign(provider.groups, {
    ada: ['staff', 'admins', 'devs'],
    fin: 'finance',
    eve: ['strangers'],
    dev: ['devs'],
  });

  const signIn = async (page: PageClient, name: string, to = ''): Promise<PageAnswer> =>
    back(page, await throughProvider(located(await begin(page, to)), name));

  await t.test('somebody of a group with a role', async (t) => {
    const page = new PageClient(rig.url);
    const begun = await begin(page, '?to=models%3Fid%3Dx');
    const url = new URL(located(begun));
    t.equal(url.origin, provider.issuer);
    t.match(Object.fromEntries(url.searchParams), {
      redirect_uri: redirectUri,
      response_type: 'code',
      code_challenge_method: 'S256',
      scope: 'openid profile email',
    });
    t.match(
      begun.headers['set-cookie']?.[0],
      /_sign-in=[\w-]+; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/,
    );
    const answer = await back(page, await throughProvider(url.href, 'ada'));
    t.equal(answer.status, 302);
    t.equal(located(answer), '../models?id=x', 'back to where it began');
    t.same([...page.cookies.keys()], ['throughline-console'], 'what was remembered is forgotten');
    t.match((await page.call('GET', '/ui/session')).json, {
      signed_in: true,
      role: 'admin',
      who: { kind: 'oidc', name: 'ada <b>', user_id: 'ada' },
      sign_in: { oidc: { name: 'single sign-on', path: 'ui/oidc/login' } },
    });
    t.equal((await page.call('GET', '/chain')).status, 200);
    const call = { model: 'demo', messages: [{ role: 'user', content: 'Hi' }] };
    t.equal((await page.call('POST', '/ui/v1/chat/completions', call)).status, 200);
    const [row] = await rig.rows();
    t.match(
      row,
      { user: 'ada', metadata: { user_api_key_alias: 'console: ada <b>' } },
      'the row names the person',
    );
    t.notMatch(JSON.stringify(rig.log), SECRET);
  });

  await t.test('each group has its role; who is in none of them stays out', async (t) => {
    const [fin, dev, eve] = [new PageClient(rig.url), new PageClient(rig.url), new PageClient(rig.url)];
    await signIn(fin, 'fin');
    t.equal((await fin.call('GET', '/chain')).status, 200);
    t.equal((await fin.call('POST', '/team/new', {})).status, 403);
    await signIn(dev, 'dev');
    t.equal((await dev.call('GET', '/chain')).status, 403);
    t.match((await dev.call('GET', '/spend/rows')).json, { whose: 'own', rows: [] });
    t.equal(located(await signIn(eve, 'eve')), '../?signin=no_role');
    t.equal(eve.cookies.size, 0);
  });

  await t.test('who was an admin once makes keys for LLM calls, and the page offers it', async (t) => {
    await managed(rig, 'POST /user/new', {
      user_id: 'dev',
      user_role: 'proxy_admin',
      auto_create_key: false,
    });
    const page = new PageClient(rig.url);
    await signIn(page, 'dev');
    t.match((await page.call('GET', '/ui/session')).json, { role: 'user', may: { keys: true } });
    t.equal((await page.call('POST', '/key/generate', { user_id: 'dev' })).status, 403);
    const body = { user_id: 'dev', key_type: 'llm_api' };
    t.equal((await page.call('POST', '/key/generate', body)).status, 200);
  });

  await t.test('what was not begun here, or was used before, ends nowhere', async (t) => {
    const page = new PageClient(rig.url);
    const url = await throughProvider(located(await begin(page)), 'ada');
    const stranger = new PageClient(rig.url);
    t.equal(located(await back(stranger, url)), '../?signin=expired', 'another browser');
    const copy = new PageClient(rig.url, page.cookies);
    t.equal(
      located(await back(copy, url.replace(/state=[\w-]+/, 'state=another'))),
      '../?signin=expired',
      'another state',
    );
    t.equal(located(await back(page, url)), '../');
    const replay = new PageClient(rig.url, copy.cookies);
    const again = await begin(replay);
    const state = new URL(located(again)).searchParams.get('state');
    const used = url.replace(/state=[\w-]+/, `state=${state}`);
    t.equal(located(await back(replay, used)), '../?signin=refused', 'a code that was used');
    t.equal(located(await get(page, '/ui/oidc/callback')), '../?signin=expired');
  });

  await t.test('an ID token of another sign-in, and a no of the provider', async (t) => {
    const page = new PageClient(rig.url);
    provider.spoilNonce();
    t.equal(located(await signIn(page, 'ada')), '../?signin=refused');
    t.equal(page.cookies.size, 0);
    const state = new URL(located(await begin(page))).searchParams.get('state');
    t.equal(
      located(await get(page, `/ui/oidc/callback?error=access_denied&state=${state}`)),
      '../?signin=refused',
    );
    t.match(JSON.stringify(rig.log), /console_sign_in_failed/);
  });

  await t.test('a page that sends itself round is stopped', async (t) => {
    const page = new PageClient(rig.url);
    for (let n = 0; n < 5; n += 1) t.match(located(await begin(page)), provider.issuer);
    t.equal(located(await begin(page)), '../?signin=loop');
    t.match(located(await begin(page)), provider.issuer, 'and may try again');
    for (const to of [
      '?to=//evil.example',
      '?to=https://evil.example',
      '?to=..%2F..%2Fx',
      '?to=models%0d%0aset-cookie:x',
    ])
      t.equal(located(await signIn(new PageClient(rig.url), 'ada', to)), '../', to);
  });

  await t.test('a role that the configuration takes away is gone at once', async (t) => {
    const page = new PageClient(rig.url);
    await signIn(page, 'fin');
    t.equal((await page.call('GET', '/chain')).status, 200);
    const config = defaultConfig(rig.demo, settings(provider.issuer));
    await rig.reconfigure(config.replace('finance: proxy_admin_viewer, ', ''));
    t.equal(codeOf(await page.call('GET', '/chain')), 'session_expired');
    await rig.reconfigure(config.replaceAll(`127.0.0.1:${port}`, `127.0.0.1:${away}`));
    t.equal(located(await begin(new PageClient(rig.url))), '../?signin=unavailable');
  });
});
