// The files of the console: which answer each path gets, how it is packed, and the policy that comes with it.
import { once } from 'node:events';
import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import t from 'tap';
import { PageClient } from '../../../support/page-client.ts';
import { defaultConfig, KEY, send, startRig, type Answer } from '../../../support/rig.ts';

const PAGE = '<!doctype html><script type="module" src="./assets/index-AbCd1234.js"></script>';
const SCRIPT = 'console.log("ü")';
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; font-src 'self'; " +
  "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

t.test('the files of the page', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'throughline-console-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const rig = await startRig(t, { consoleFolder: folder });
  const get = (path: string, headers: Record<string, string> = {}): Promise<Answer> =>
    send(rig.url, 'GET', path, undefined, { authorization: '', ...headers });

  const missing = await get('/ui/');
  t.equal(missing.status, 404);
  t.match(missing.text, /not installed: build them/, 'without the files, a sentence says so');

  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'index.html'), PAGE);
  for (const name of ['assets/index-AbCd1234.js', 'mark.svg', 'notes.exe'])
    writeFileSync(join(folder, name), SCRIPT);
  writeFileSync(join(folder, 'assets/index-AbCd1234.js.br'), brotliCompressSync(SCRIPT));
  writeFileSync(join(folder, 'assets/index-AbCd1234.js.gz'), gzipSync(SCRIPT));
  writeFileSync(join(rig.folder, 'secret.txt'), 'secret');

  await t.test('the page, at its own address and at each of its places', async (t) => {
    const redirect = await get('/ui');
    t.equal(redirect.status, 308);
    t.equal(redirect.headers.location, 'ui/', 'relative, so that it holds behind a prefix');
    for (const path of [
      '/ui/',
      '/ui/models',
      '/ui/models?id=a%2Fb',
      '/ui/a%2Fb',
      '/ui/index.html',
      '/ui/assets',
    ]) {
      const { status, headers, text } = await get(path);
      t.equal(status, 200, path);
      t.equal(text, PAGE, path);
      t.match(headers, {
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-cache',
        'content-security-policy': POLICY,
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cross-origin-opener-policy': 'same-origin',
      });
    }
    const { headers } = await get('/ui/');
    const again = await get('/ui/', { 'if-none-match': String(headers.etag) });
    t.equal(again.status, 304);
    t.equal(again.text, '');
  });

  await t.test('files as small as the browser takes them', async (t) => {
    const path = '/ui/assets/index-AbCd1234.js';
    const wanted: Readonly<Record<string, string | undefined>> = {
      'gzip, deflate, br, zstd': 'br',
      'gzip;q=1.0, br;q=0': 'gzip',
      gzip: 'gzip',
      'br;q=0.1': 'br',
      '*': 'br',
      identity: undefined,
      '*;q=0': undefined,
    };
    for (const [accept, encoding] of Object.entries(wanted)) {
      const { status, headers } = await get(path, { 'accept-encoding': accept });
      t.equal(status, 200);
      t.equal(headers['content-encoding'], encoding, accept);
      t.match(headers, {
        vary: 'accept-encoding',
        'content-type': 'text/javascript; charset=utf-8',
        'cache-control': 'public, max-age=31536000, immutable',
      });
    }
    t.equal((await get(path)).text, SCRIPT);
    const head = await send(rig.url, 'HEAD', path, undefined, { authorization: '' });
    t.match(head, {
      status: 200,
      text: '',
      headers: { 'content-length': String(Buffer.byteLength(SCRIPT)) },
    });
    t.equal((await get('/ui/mark.svg')).headers['cache-control'], 'no-cache');
  });

  await t.test('nothing else is a file', async (t) => {
    const none = [
      '/ui/assets/none.js',
      '/ui/assets/',
      '/ui/models/x',
      '/ui/..%2fsecret.txt/x',
      '/ui//etc/passwd',
      '/ui/assets/index-AbCd1234.js.br',
    ];
    for (const path of none) t.equal((await get(path)).status, 404, path);
    const odd = [
      '/ui/..%2f..%2fsecret.txt',
      '/ui/%2e%2e',
      '/ui/constructor',
      '/ui/__proto__',
      '/ui/notes.exe',
      '/ui/%ff',
    ];
    for (const path of odd) t.not((await get(path)).text, 'secret', path);
    t.equal((await get('/ui/notes.exe')).text, PAGE, 'a kind of file that a page has not');
    t.equal((await send(rig.url, 'POST', '/ui/', {})).status, 405);
  });

  await t.test('behind a proxy with a path prefix that rewrites the host', async (t) => {
    const front = createServer((request, response) => {
      const path = String(request.url).replace(/^\/gw/, '');
      const { host, ...headers } = request.headers;
      const { method = 'GET' } = request;
      t.not(host, undefined);
      const onward = httpRequest(`${rig.url}${path}`, { method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 0, answer.headers);
        answer.pipe(response);
      });
      request.pipe(onward);
    });
    front.listen(0, '127.0.0.1');
    await once(front, 'listening');
    t.teardown(() => front.close());
    const page = new PageClient(`http://127.0.0.1:${(front.address() as AddressInfo).port}`);
    const { headers } = await page.call('GET', '/gw/ui');
    const at = new URL(String(headers.location), `${page.url}/gw/ui`).pathname;
    t.equal(at, '/gw/ui/');
    t.equal((await page.call('GET', at)).text, PAGE);
    t.equal((await page.call('POST', '/gw/ui/session', { key: KEY })).status, 200);
    t.equal((await page.call('GET', '/gw/chain')).status, 200);
    const plain = { 'sec-fetch-site': '' };
    t.equal(
      (await page.call('DELETE', '/gw/ui/session', undefined, plain)).status,
      415,
      'on plain http the host would have to be the one that the browser asked for',
    );
    await rig.reconfigure(defaultConfig(rig.demo, `  console: { public_url: "${page.url}/gw" }\n`));
    t.match((await page.call('POST', '/gw/ui/session', { key: KEY }, plain)).headers['set-cookie'], [
      /^throughline-console-gw=/,
    ]);
    t.equal((await page.call('POST', '/gw/config/reload', {}, plain)).status, 200, 'public_url says it');
  });

  await t.test('on the admin port where there is one', async (t) => {
    const other = await startRig(t, {
      consoleFolder: folder,
      config: (demo) => defaultConfig(demo, '  admin_port: 0\n'),
    });
    const { adminUrl } = other.gateway;
    t.equal((await send(other.url, 'GET', '/ui/')).status, 404);
    t.equal((await send(String(adminUrl), 'GET', '/ui/')).status, 200);
  });

  await t.test('without a master key only where somebody asks for it', async (t) => {
    const open = (more: string) =>
      startRig(t, {
        consoleFolder: folder,
        config: (demo) => defaultConfig(demo, more).replace(/^ {2}master_key:.*\n/m, ''),
      });
    t.equal((await send((await open('')).url, 'GET', '/ui/')).status, 404);
    const { url } = await open('  console: { enabled: true }\n');
    t.equal((await send(url, 'GET', '/ui/')).status, 200);
    t.match(JSON.parse((await send(url, 'GET', '/ui/session')).text), {
      signed_in: true,
      role: 'admin',
      who: { kind: 'open' },
    });
  });
});
