// Another configuration while the proxy serves: taken whole or not at all, told in log, metric and readiness, and
// never felt by a request that is under way.
import { spawnSync } from 'node:child_process';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { startDemoGateway } from '../../proxy/demo-gateway/demo-gateway.ts';
import { openCall } from '../support/call.ts';
import { chat, defaultConfig, headerOf, KEY, send, startRig, type Answer, type Rig } from '../support/rig.ts';

interface Readiness {
  readonly status: string;
  readonly config: {
    readonly version: string;
    readonly models: number;
    readonly last_reload: string;
    readonly last_reload_at: string;
    readonly issues: readonly string[];
  };
}

const readiness = async (rig: Rig): Promise<Readiness> =>
  JSON.parse((await send(rig.url, 'GET', '/health/readiness')).text) as Readiness;

/** Value of one line of `/metrics`, labels as they stand there. */
async function metric(rig: Rig, line: string): Promise<number> {
  const { text } = await send(rig.url, 'GET', '/metrics');
  const found = text.split('\n').find((one) => one.startsWith(`${line} `));
  return found === undefined ? NaN : Number(found.slice(line.length + 1));
}

/** Settles when a line like this has been logged after `act`: what is awaited is an event of the file system. */
async function loggedAfter(
  rig: Rig,
  wanted: Readonly<Record<string, unknown>>,
  act: () => void,
): Promise<void> {
  const from = rig.log.length;
  act();
  await rig.logged(
    (line) =>
      rig.log.lastIndexOf(line) >= from &&
      Object.entries(wanted).every(([name, value]) => line[name] === value),
  );
}

const AGAIN = 'configuration accepted again: it is the one that serves';
const APPLIED = { msg: 'configuration applied' };

const single = (name: string, base: string, more = ''): string => `
model_list:
  - model_name: ${name}
    litellm_params: { model: litellm_proxy/demo, api_base: "${base}", api_key: sk-upstream-secret }
general_settings: { master_key: ${KEY}, forward_client_headers_to_llm_api: true${more} }
`;

t.test('one configuration after another', async (t) => {
  const rig = await startRig(t);
  const good = defaultConfig(rig.demo);

  t.test('a written file is noticed and applied, and what is left out is gone', async (t) => {
    const { version } = (await readiness(rig)).config;
    await loggedAfter(rig, APPLIED, () => writeFileSync(rig.configPath, single('only', rig.demo.url)));
    t.equal((await chat(rig, 'only')).status, 200);
    t.equal((await chat(rig, 'demo')).status, 404);
    const now = (await readiness(rig)).config;
    t.match(now, { models: 1, last_reload: 'applied', issues: [] });
    t.not(now.version, version);
    t.equal(await metric(rig, 'throughline_config_last_reload_successful'), 1);
    t.equal(await metric(rig, `throughline_config_info{version="${now.version}"}`), 1);
    t.ok(rig.log.some((line) => line['msg'] === 'configuration applied' && line['version'] === now.version));
  });

  t.test(
    'a bad file changes nothing and is told in log, metric and readiness; its mending too',
    async (t) => {
      await rig.reconfigure(good);
      const before = await readiness(rig);
      const refused = await metric(rig, 'throughline_config_reloads_total{result="refused"}');
      await rig.reconfigure(
        good.replace('litellm_proxy/demo,', 'azure/demo,').replace('model_list', 'model_lits'),
      );
      t.equal((await chat(rig, 'demo')).status, 200);
      const during = await readiness(rig);
      t.equal(during.status, 'healthy', 'a bad file on the disk takes no traffic away');
      t.match(during.config, { version: before.config.version, models: 4, last_reload: 'refused' });
      t.match(during.config.issues, [/gateway\.yaml:2:1 model_lits: unknown key.*model_list/]);
      t.notMatch(JSON.stringify(during), /sk-/);
      t.equal(await metric(rig, 'throughline_config_last_reload_successful'), 0);
      t.ok((await metric(rig, 'throughline_config_reloads_total{result="refused"}')) > (refused || 0)); // the watcher may see it too
      const told = rig.log.find((line) => line['msg'] === 'configuration refused');
      t.match(told, { level: 50, issue: /model_lits: unknown key/ });
      await rig.reconfigure(good);
      t.match((await readiness(rig)).config, {
        version: before.config.version,
        last_reload: 'unchanged',
        issues: [],
      });
      t.equal(await metric(rig, 'throughline_config_last_reload_successful'), 1);
      await rig.gateway.reload();
      const { version } = before.config;
      t.match(
        rig.log.filter(({ msg }) => msg === AGAIN),
        [{ level: 30, version }],
        'the end of the refusal is told, once',
      );
    },
  );

  t.test(
    'the cause of a refusal comes first, warnings stay warnings, and readiness tells them apart',
    async (t) => {
      await rig.reconfigure(good);
      const from = rig.log.length;
      const doubtful = good.replace('general_settings:', 'general_settings:\n  database_type: prisma');
      await rig.reconfigure(`litellm_settings: { telemetry: true }\n${doubtful}nonsense: 1\n`);
      const told = rig.log.slice(from).filter((line) => 'issue' in line);
      t.match(told[0], { level: 50, msg: 'configuration refused', issue: /nonsense: unknown key/ });
      t.ok(told.length >= 3);
      for (const line of told.slice(1))
        t.match(line, { level: 40, msg: 'configuration', issue: /has no effect here/ });
      const { issues } = (await readiness(rig)).config;
      t.match(issues[0], /^error: gateway\.yaml:\d+:1 nonsense: unknown key/);
      t.ok(issues.length >= 3);
      for (const issue of issues.slice(1))
        t.match(issue, /^warning: gateway\.yaml:\d+:\d+ .*has no effect here/);
      await rig.reconfigure(good);
    },
  );

  t.test('a file that is not there, or is a folder, changes nothing either', async (t) => {
    const away = join(rig.folder, 'away.yaml');
    renameSync(rig.configPath, away);
    await rig.gateway.reload();
    t.match((await readiness(rig)).config, { last_reload: 'refused', issues: [/gateway\.yaml/] });
    t.equal((await chat(rig, 'demo')).status, 200);
    renameSync(away, rig.configPath);
    await rig.gateway.reload();
    t.match((await readiness(rig)).config, { last_reload: 'unchanged' });
  });

  t.test(
    'a file that has become a pipe changes nothing and stops nobody; a file again is read',
    async (t) => {
      const away = join(rig.folder, 'away.yaml');
      const refused = { msg: 'configuration refused' };
      await loggedAfter(rig, refused, () => {
        renameSync(rig.configPath, away);
        t.equal(spawnSync('mkfifo', [rig.configPath]).status, 0);
      });
      await rig.gateway.reload();
      const says = /gateway\.yaml is a pipe or a device, which cannot be read a second time - write/;
      t.match((await readiness(rig)).config, { last_reload: 'refused', issues: [says] });
      t.match(rig.gateway.reloader.dryRun(), { result: 'refused' });
      t.equal((await chat(rig, 'demo')).status, 200);
      await loggedAfter(rig, refused, () => {
        renameSync(rig.configPath, join(rig.folder, 'included'));
        writeFileSync(rig.configPath, `include: [included]\n${good}`);
      });
      t.match((await readiness(rig)).config, { issues: [/'included' is a pipe or a device/] });
      renameSync(away, rig.configPath);
      await rig.gateway.reload();
      t.match((await readiness(rig)).config, { last_reload: 'unchanged' });
    },
  );

  t.test('a stream ends on the upstream and the rules that it began with', async (t) => {
    const other = await startDemoGateway();
    t.teardown(() => other.close());
    const before = rig.demo.seen.length;
    const body = { model: 'demo-hold', messages: [{ role: 'user', content: 'hi' }], stream: true };
    const running = openCall(rig.url, '/v1/chat/completions', body);
    await rig.demo.waitFor(before + 1);
    await rig.reconfigure(single('demo', other.url));
    t.equal((await chat(rig, 'demo')).status, 200);
    t.equal(other.seen.length, 1, 'a new request takes the new way');
    rig.demo.release();
    const text = await running.received('[DONE]');
    t.match(text, /data: \[DONE\]\n\n/);
    t.equal((await running.head).headers['x-litellm-model-api-base'], rig.demo.url);
    const row = (await rig.rows()).find((one) => one['model_group'] === 'demo-hold');
    t.match(row, { status: 'success', api_base: rig.demo.url });
    await rig.reconfigure(good);
  });

  t.test('a changed master key holds from the next request on', async (t) => {
    await rig.reconfigure(good.replace(KEY, 'sk-rotated'));
    t.equal((await chat(rig, 'demo')).status, 401);
    t.equal((await chat(rig, 'demo', {}, { authorization: 'Bearer sk-rotated' })).status, 200);
    await rig.reconfigure(good);
    t.equal((await chat(rig, 'demo')).status, 200);
  });

  t.test('warnings of a new file are logged once, when it is applied', async (t) => {
    const before = rig.log.length;
    await rig.reconfigure(defaultConfig(rig.demo, '  database_type: dynamo_db\n'));
    await rig.gateway.reload();
    const warned = rig.log.slice(before).filter((line) => line['level'] === 40);
    t.equal(warned.length, 1);
    t.match(warned[0], { issue: /database_type/ });
    await rig.reconfigure(good);
  });
});

t.test('pools follow the configuration', async (t) => {
  const rig = await startRig(t);
  const other = await startDemoGateway();
  t.teardown(() => other.close());
  const { pools } = rig.gateway.reloader.active.services;
  t.equal(pools.size, 1, 'four entries, one origin');
  await rig.reconfigure(`
model_list:
  - model_name: a
    litellm_params: { model: litellm_proxy/demo, api_base: "${rig.demo.url}", api_key: k }
  - model_name: b
    litellm_params: { model: openai/x/demo, api_base: "${other.url}/compat/v1", api_key: k }
  - model_name: b
    litellm_params: { model: litellm_proxy/demo-hold, api_base: "${other.url}", api_key: k, weight: 1000000000 }
general_settings: { master_key: ${KEY} }
`);
  t.equal(pools.size, 2, 'three entries, two origins');
  const running = chat(rig, 'b');
  await other.waitFor(1);
  await rig.reconfigure(single('a', rig.demo.url));
  t.equal(pools.size, 2, 'a request still runs on the second');
  other.release();
  t.equal((await running).status, 200);
  t.equal((await chat(rig, 'a')).status, 200);
  t.equal(pools.size, 1, 'the second closed with its last request');
});

t.test('included files are watched like the main one', async (t) => {
  const rig = await startRig(t);
  const included = (name: string): string => `
model_list:
  - model_name: ${name}
    litellm_params: { model: litellm_proxy/demo, api_base: "${rig.demo.url}", api_key: k }
`;
  const path = join(rig.folder, 'more/models.yaml');
  const next = join(rig.folder, 'more/next.yaml');
  mkdirSync(join(rig.folder, 'more'));
  writeFileSync(path, included('included'));
  await rig.reconfigure(`include: [more/models.yaml]\n${defaultConfig(rig.demo)}`);
  t.equal((await chat(rig, 'included')).status, 200);
  writeFileSync(next, included('renamed'));
  await loggedAfter(rig, APPLIED, () => renameSync(next, path)); // as editors save
  t.equal((await chat(rig, 'renamed')).status, 200);
  t.equal((await chat(rig, 'included')).status, 404);
  await loggedAfter(rig, { msg: 'configuration refused' }, () => writeFileSync(path, 'model_list: ['));
  t.match((await readiness(rig)).config.issues, [/^error: models\.yaml:1:\d+ /]);
  t.equal((await chat(rig, 'renamed')).status, 200);
});

t.test('what a refused configuration lacks is noticed when it comes', async (t) => {
  const rig = await startRig(t);
  const refused = { msg: 'configuration refused' };
  const key = join(rig.folder, 'later/key');
  const more = join(rig.folder, 'more.yaml');
  const entry = `
  - model_name: late
    litellm_params: { model: litellm_proxy/demo, api_base: "${rig.demo.url}", api_key_file: later/key }
`;
  mkdirSync(join(rig.folder, 'later'));
  await loggedAfter(rig, refused, () =>
    writeFileSync(rig.configPath, `include: [more.yaml]\n${defaultConfig(rig.demo)}`),
  );
  t.match((await readiness(rig)).config.issues, [/'more\.yaml' the file does not exist|does not exist/]);
  await loggedAfter(rig, refused, () => writeFileSync(more, `model_list:${entry}`));
  t.match((await readiness(rig)).config.issues, [/'later\/key' /]);
  await loggedAfter(rig, APPLIED, () => writeFileSync(key, 'sk-late', { mode: 0o600 }));
  t.equal((await chat(rig, 'late')).status, 200);
  t.equal(headerOf(rig.demo.seen.at(-1)?.rawHeaders ?? [], 'authorization'), 'Bearer sk-late');
});

t.test('forty changes under traffic, every second one invalid: no request fails', async (t) => {
  const rig = await startRig(t);
  const good = defaultConfig(rig.demo);
  let going = true;
  const answers: Answer[] = [];
  const traffic = Promise.all(
    Array.from({ length: 6 }, async (_, n) => {
      while (going)
        answers.push(await chat(rig, n % 2 === 0 ? 'demo' : 'demo-hello', { stream: n % 3 === 0 }));
    }),
  );
  const results: string[] = [];
  for (let n = 0; n < 40; n++) {
    const text = n % 2 === 0 ? `${good}  max_request_headers: ${100 + n}\n` : `${good}  no_such_key: ${n}\n`;
    writeFileSync(rig.configPath, text);
    await rig.gateway.reload();
    results.push(rig.gateway.reloader.state.result);
    answers.push(await chat(rig, 'demo')); // the others run on meanwhile
  }
  going = false;
  await traffic;
  t.equal(results.filter((result) => result === 'refused').length, 20);
  t.ok(answers.length > 80, `${answers.length} requests`);
  t.same(
    answers.filter((answer) => answer.status !== 200 || answer.broken).map((answer) => answer.text),
    [],
  );
  t.equal(rig.gateway.reloader.active.snapshot.limits.headerCount, 138);
  t.equal((await rig.rows()).length, answers.length, 'one row each');
  t.equal(rig.gateway.reloader.active.services.pools.size, 1);
  t.equal(headerOf(rig.demo.seen.at(-1)?.rawHeaders ?? [], 'authorization'), 'Bearer sk-upstream-secret');
});

t.test('a setting that is read at the start alone is named, and the old one serves on', async (t) => {
  const rig = await startRig(t);
  await rig.reconfigure(
    defaultConfig(rig.demo, '  database_url: "postgresql://u:p@127.0.0.1:1/d"\n  workers: 3\n'),
  );
  for (const name of ['database_url', 'workers'])
    await rig.logged(
      ({ msg }) =>
        msg === `general_settings.${name} was changed in the configuration; it takes effect after a restart`,
    );
  t.equal((await chat(rig, 'demo')).status, 200);
  t.equal((await rig.rows()).length, 1, 'rows are where they were');
});
