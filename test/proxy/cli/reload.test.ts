// `throughline reload` against a running proxy: what would change, then what has changed. Real processes.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { folder, runWithin, serveCli } from '../../support/cli.ts';

const KEY = 'sk-master';
const file = (...names: readonly string[]): string =>
  `model_list:\n${names
    .map(
      (name) =>
        `  - { model_name: ${name}, litellm_params: { model: litellm_proxy/x, api_base: "http://127.0.0.1:1" } }\n`,
    )
    .join('')}general_settings: { master_key: ${KEY} }\n`;

t.test('--dry-run says what would change and changes nothing; then it is applied', async (t) => {
  const dir = folder(t);
  const config = join(dir, 'gateway.yaml');
  writeFileSync(config, file('a'));
  const cli = await serveCli(t, config, join(dir, 'data'));
  const reload = (...args: string[]) =>
    runWithin(['reload', '--url', cli.url, ...args], { cwd: dir, env: { THROUGHLINE_MASTER_KEY: KEY } });
  const post = async (body: string, key = KEY): Promise<{ status: number; body: unknown }> => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const response = await fetch(`${cli.url}/config/reload`, { method: 'POST', headers, body });
    return { status: response.status, body: await response.json() };
  };
  const served = async (): Promise<string[]> => {
    const response = await fetch(`${cli.url}/v1/models`, { headers: { authorization: `Bearer ${KEY}` } });
    return ((await response.json()) as { data: { id: string }[] }).data.map(({ id }) => id);
  };
  t.strictSame(await reload('--dry-run'), { code: 0, out: 'nothing has changed\n', err: '' });
  await cli.said(/"outcome":"unchanged".*"dry_run":true/);

  // What is not served yet must be seen by a dry run, so the file is left broken first: the watcher refuses it.
  writeFileSync(config, 'model_list: [');
  t.match(await reload('--dry-run'), {
    code: 1,
    out: /^error: gateway\.yaml:1:13 the \[ that is opened/,
    err: /what served before serves on/,
  });
  t.match(await reload(), { code: 1, out: /^error: gateway\.yaml:1:13/ });
  t.strictSame(await served(), ['a']);
  t.match((await post('{"dry_run": true}')).body, { result: 'refused', dry_run: true });
  await cli.said(/"outcome":"refused".*"result":"refused".*"persisted":false/);

  // Each of these is refused before anything is read again.
  for (const body of ['{"dry_run": "true"}', '{"dryrun": true}', '{"dry_run": 1}', '[]', 'x'])
    t.equal((await post(body)).status, 400, body);
  t.equal((await post('{}', 'sk-wrong')).status, 401);

  writeFileSync(config, file('a', 'b'));
  const applied = await reload('--json');
  t.equal(applied.code, 0);
  t.match(JSON.parse(applied.out), { dry_run: false, result: /applied|unchanged/ });
  t.strictSame((await served()).toSorted(), ['a', 'b']);
  const { out } = await cli.said(/configuration applied/).then(async () => reload('--dry-run'));
  t.equal(out, 'nothing has changed\n');
});
