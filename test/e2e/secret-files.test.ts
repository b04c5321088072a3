// Keys in files while the proxy serves: swapped as the kubelet swaps them, rewritten as Vault agent does, emptied by
// mistake. The next request goes out with the key of the moment; a broken file keeps the old one.
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { folder, serveCli } from '../support/cli.ts';

const MASTER = 'sk-master';

t.test('a key that is rotated in its file is sent from the next request on', async (t) => {
  const dir = folder(t);
  const mount = join(dir, 'mount');
  mkdirSync(mount);
  const keys: (string | undefined)[] = [];
  const gateway = createServer((request, response) => {
    keys.push(request.headers.authorization);
    request.resume().on('end', () => response.end('{"choices":[],"usage":{}}'));
  });
  await new Promise<void>((done) => gateway.listen(0, '127.0.0.1', done));
  t.teardown(() => gateway.close());
  /** As the kubelet does it: a folder of its own per version, and the link replaced by a rename. */
  const swap = (version: string, text: string): void => {
    mkdirSync(join(mount, `..${version}`));
    writeFileSync(join(mount, `..${version}`, 'key'), text);
    symlinkSync(`..${version}`, join(mount, '..data_tmp'));
    renameSync(join(mount, '..data_tmp'), join(mount, '..data'));
  };
  swap('one', 'sk-first\n');
  symlinkSync('..data/key', join(mount, 'key'));
  const master = join(dir, 'master');
  writeFileSync(master, `${MASTER}\n`, { mode: 0o600 });
  const config = join(dir, 'gateway.yaml');
  writeFileSync(
    config,
    `model_list:
  - model_name: a
    litellm_params:
      model: litellm_proxy/a
      api_base: http://127.0.0.1:${(gateway.address() as AddressInfo).port}
      api_key_file: mount/key
`,
  );
  const cli = await serveCli(t, config, join(dir, 'data'), [], { env: { PROXY_MASTER_KEY_FILE: master } });
  const call = async (key = MASTER): Promise<number> => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ model: 'a', messages: [] });
    const response = await fetch(`${cli.url}/v1/chat/completions`, { method: 'POST', headers, body });
    await response.text();
    return response.status;
  };
  /** Once the log has told of so many. */
  const told = (word: 'applied' | 'refused', times: number): Promise<unknown> =>
    cli.said(new RegExp(`(?:configuration ${word}[^]*){${times}}`));
  t.equal(await call(), 200);
  t.equal(keys.at(-1), 'Bearer sk-first');

  swap('two', 'sk-second\n');
  await told('applied', 1);
  await call();
  t.equal(keys.at(-1), 'Bearer sk-second');

  swap('three', '');
  await told('refused', 1);
  await cli.said(/'mount\/key' is empty - write the secret into it; what is served stays meanwhile/);
  await call();
  t.equal(keys.at(-1), 'Bearer sk-second', 'an empty file keeps the old key');

  swap('four', 'sk-fourth');
  await told('applied', 2);
  await call();
  t.equal(keys.at(-1), 'Bearer sk-fourth');

  writeFileSync(`${master}.new`, 'sk-rotated', { mode: 0o600 });
  renameSync(`${master}.new`, master);
  await told('applied', 3);
  t.equal(await call(), 401, 'the old master key opens nothing any more');
  t.equal(await call('sk-rotated'), 200);
  cli.kill('SIGTERM');
  const { out } = await cli.ended;
  t.notMatch(out, /sk-(?:first|second|fourth|rotated|master)/);
});
