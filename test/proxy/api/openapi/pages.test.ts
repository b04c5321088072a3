// `/`, `/docs` and `/openapi.json` from outside: who gets what, under which policy, and how they are turned off.
import t from 'tap';
import { defaultConfig, send, startRig } from '../../../support/rig.ts';

const STRANGER = { authorization: '' };
const PATHS = ['/', '/docs', '/openapi.json', '/routes'];

t.test('/ is a page for browsers and JSON for programs', async (t) => {
  const rig = await startRig(t);
  const ask = async (accept: string): Promise<string> => {
    const { status, headers } = await send(rig.url, 'GET', '/', undefined, { ...STRANGER, accept });
    t.equal(status, 200);
    t.equal(headers['vary'], 'accept');
    return String(headers['content-type']);
  };
  t.match(await ask('text/html,application/xhtml+xml,*/*;q=0.8'), /^text\/html/);
  t.match(await ask('TEXT/HTML;q=0.9'), /^text\/html/);
  for (const accept of ['*/*', 'application/json', 'application/json, text/html', 'image/png'])
    t.equal(await ask(accept), 'application/json', accept);
  const { text } = await send(rig.url, 'GET', '/', undefined, STRANGER);
  t.match(JSON.parse(text), { name: 'Throughline', documentation: '/docs', openapi: '/openapi.json' });
});

t.test('pages run nothing and ask nobody', async (t) => {
  const rig = await startRig(t);
  for (const path of ['/', '/docs']) {
    const { status, text, headers } = await send(rig.url, 'GET', path, undefined, {
      ...STRANGER,
      accept: 'text/html',
    });
    t.equal(status, 200);
    const policy = String(headers['content-security-policy']);
    t.match(policy, /default-src 'none'; style-src 'sha256-[\w+/=]{44}'/);
    t.notMatch(policy, /unsafe|script-src|\*/);
    t.equal(headers['x-content-type-options'], 'nosniff');
    t.notMatch(text, /<script|\sstyle=|\son\w+=|https?:\/\/|src=|@import|url\(/);
  }
});

t.test('the page has every operation with a curl line', async (t) => {
  const rig = await startRig(t);
  const page = await send(rig.url, 'GET', '/docs', undefined, STRANGER);
  const document = await send(rig.url, 'GET', '/openapi.json', undefined, STRANGER);
  const { paths } = JSON.parse(document.text) as { paths: Record<string, object> };
  const operations = Object.values(paths).reduce((sum, methods) => sum + Object.keys(methods).length, 0);
  t.equal(page.text.match(/<details/g)?.length, operations);
  t.equal(page.text.match(/<pre>curl /g)?.length, operations);
  t.match(page.text, '-X POST &quot;$PROXY/key/generate&quot;');
});

t.test('headers are named as the configured dialect has them, also after a reload', async (t) => {
  const named = async (brand: string): Promise<void> => {
    const { text } = await send(rig.url, 'GET', '/openapi.json', undefined, STRANGER);
    t.same(
      text.match(/x-\w+-api-key/g)?.find((name) => !name.includes('goog')),
      `x-${brand}-api-key`,
    );
  };
  const config = (brand: string): string => `
model_list:
  - model_name: a
    litellm_params: { model: ${brand}_proxy/a, api_base: "http://127.0.0.1:9" }
general_settings: { dialect: { brand: ${brand} }, master_key: sk-test-master-key }
`;
  const rig = await startRig(t, { config: () => config('acme') });
  await named('acme');
  await rig.reconfigure(config('litellm'));
  await named('litellm');
});

t.test('HEAD, other methods, and paths that only look like them', async (t) => {
  const rig = await startRig(t);
  for (const path of PATHS) {
    const head = await send(rig.url, 'HEAD', path, undefined, STRANGER);
    t.equal(head.status, 200);
    t.equal(head.text, '');
    t.equal((await send(rig.url, 'POST', path, {})).status, 405);
  }
  for (const path of ['/docs//', '/Docs', '/%64ocs', '//docs', '/v1/docs', '/openapi.yaml'])
    t.equal((await send(rig.url, 'GET', path, undefined, STRANGER)).status, 404, path);
});

t.test('api_docs: false turns them off, also by a reload', async (t) => {
  const rig = await startRig(t);
  t.equal((await send(rig.url, 'GET', '/docs', undefined, STRANGER)).status, 200);
  await rig.reconfigure(defaultConfig(rig.demo, '  api_docs: false\n'));
  for (const path of PATHS) {
    const { status, text } = await send(rig.url, 'GET', path, undefined, STRANGER);
    t.equal(status, 404, path);
    t.match(JSON.parse(text), { error: { code: 'route_not_found' } });
  }
});

t.test('addresses that are not allowed do not get them', async (t) => {
  const rig = await startRig(t, { config: (demo) => defaultConfig(demo, '  allowed_ips: [10.9.9.9]\n') });
  for (const path of PATHS) {
    const { status } = await send(rig.url, 'GET', path, undefined, STRANGER);
    t.equal(status, 403, path);
  }
  t.equal((await send(rig.url, 'GET', '/health/liveness', undefined, STRANGER)).status, 200);
});
