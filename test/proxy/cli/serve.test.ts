// `serve` and `start` as real processes: environment, foreign flags, reload by signal, the launcher under an older
// Node, and the quickstart whose printed lines must work as they stand.
import { execFileSync } from 'node:child_process';
import { accessSync, constants, readdirSync, statSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import t from 'tap';
import { startDemoGateway } from '../../../proxy/demo-gateway/demo-gateway.ts';
import { runProgram } from '../../../proxy/cli/program.ts';
import { folder, MAIN, ROOT, runCli, runWithin, serveCli, startCli, type Cli } from '../../support/cli.ts';
import { defaultConfig, send } from '../../support/rig.ts';
import { beforeNextLook } from '../../support/patience.ts';

const demo = await startDemoGateway();
t.teardown(() => demo.close());
const SERVES = /serves (\d+) models on (http:\/\/127\.0\.0\.1:\d+)\n/;
const BODY = { model: 'demo', messages: [{ role: 'user', content: 'Hello' }] };

function configIn(dir: string, text = defaultConfig(demo)): string {
  const path = join(dir, 'gateway.yaml');
  writeFileSync(path, text);
  return path;
}

/** The first program of that name on the path, passing over the packages of this checkout. */
function systemProgram(name: string): string | null {
  for (const dir of (process.env['PATH'] ?? '').split(delimiter)) {
    if (dir.includes('node_modules')) continue;
    try {
      accessSync(join(dir, name), constants.X_OK);
      return join(dir, name);
    } catch {
      // the next folder of the path
    }
  }
  return null;
}

t.test('a signal that comes with the line that says it serves is not lost', async (t) => {
  const dir = folder(t);
  const args = ['serve', '--config', configIn(dir), '--host', '127.0.0.1', '--port', '0'];
  const acts = new Map<string, () => void>();
  const code = await runProgram(
    [...args, '--data-dir', join(dir, 'data'), '--log-level', 'silent'],
    '1.2.3',
    {
      env: {},
      out: () => undefined,
      err: (text) => {
        if (!text.includes('serves')) return;
        t.ok(acts.has('interrupt'), 'who has read it may send one');
        setImmediate(() => acts.get('interrupt')?.());
      },
      logStyle: 'json',
      onSignal: (kind, act) => void acts.set(kind, act),
      ask: null,
      cwd: dir,
      home: ROOT,
    },
  );
  t.equal(code, 0);
});

t.test('the start says where it listens and that nobody is authenticated; a pipe is read once', async (t) => {
  const dir = folder(t);
  configIn(dir, 'model_list: []\ngeneral_settings: { allow_unauthenticated: true }\n');
  const line = 'exec "$0" "$@" --config <(cat gateway.yaml)';
  const open = startCli(t, ['serve', '--port', '0', '--data-dir', 'data'], {
    cwd: dir,
    command: ['bash', '-c', line, process.execPath, MAIN],
  });
  await open.said(/"level":40,.*nobody is authenticated: there is no master key/);
  await open.said(
    /serves 0 models on http:\/\/127\.0\.0\.1:\d+\nit listens on 0\.0\.0\.0:\d+: on every address/,
  );
  open.kill('SIGHUP');
  await open.said(/configuration refused/);
  await open.said(/\/dev\/fd\/\d+ is a pipe or a device, which cannot be read a second time/);
  open.kill('SIGTERM');
  t.equal((await open.ended).code, 0);
  const keyed = await serveCli(t, configIn(dir), join(dir, 'keyed'));
  keyed.kill('SIGTERM');
  t.notMatch((await keyed.ended).err, /nobody is authenticated|it listens on/);
});

t.test(
  'flags of the proxy that is replaced are passed over; SIGHUP reads the configuration again',
  async (t) => {
    const dir = folder(t);
    const config = configIn(dir);
    const foreign = [
      '--keepalive_timeout',
      '4',
      '--use_v2_migration_resolver',
      '--detailed_debug',
      '--telemetry=False',
    ];
    const proxy = await serveCli(t, config, join(dir, 'data'), foreign);
    t.equal((await send(proxy.url, 'POST', '/v1/chat/completions', BODY)).status, 200);

    interface Readiness {
      readonly config: {
        readonly last_reload: string;
        readonly last_reload_at: string;
        readonly version: string;
      };
    }
    const readiness = async (): Promise<Readiness['config']> =>
      (JSON.parse((await send(proxy.url, 'GET', '/health/readiness')).text) as Readiness).config;
    const first = await readiness();
    proxy.kill('SIGHUP');
    let now: Readiness['config'];
    for (;;) {
      now = await readiness();
      if (now.last_reload === 'unchanged') break; // no file has changed, so nothing but the signal can do this
      await beforeNextLook();
    }
    t.match(now, { last_reload: 'unchanged', version: first.version });

    configIn(dir, defaultConfig(demo).replace('model_name: compat\n', 'model_name: renamed\n'));
    proxy.kill('SIGHUP');
    await proxy.said(/"msg":"configuration applied"/);
    t.match((await send(proxy.url, 'GET', '/v1/models')).text, /"id":"renamed"/);

    configIn(dir, 'model_list: [{}]\n');
    proxy.kill('SIGHUP');
    await proxy.said(/"msg":"configuration refused"/);
    t.match(await readiness(), { last_reload: 'refused' });
    t.match((await send(proxy.url, 'GET', '/v1/models')).text, /"id":"renamed"/);
    proxy.kill('SIGTERM');
    const { code, err } = await proxy.ended;
    t.equal(code, 0);
    for (const flag of [
      '--keepalive_timeout',
      '--use_v2_migration_resolver',
      '--detailed_debug',
      '--telemetry',
    ]) {
      t.match(err, new RegExp(`^${flag} has no effect here$`, 'm'));
    }
  },
);

t.test('--config without a command serves; the environment says the rest', async (t) => {
  const dir = folder(t);
  const config = configIn(dir, defaultConfig(demo).replace(/^ {2}master_key.*\n/m, ''));
  const env = {
    PORT: '0',
    HOST: '127.0.0.1',
    PROXY_MASTER_KEY: 'sk-from-environment',
    THROUGHLINE_LOG_LEVEL: 'warn',
    THROUGHLINE_DATA_DIR: '', // as an unset variable leaves it
  };
  const proxy = startCli(t, ['--config', config], { cwd: dir, env });
  const [, count, url = ''] = await proxy.said(SERVES);
  t.equal(count, '4');
  const headers = { authorization: 'Bearer sk-from-environment' };
  t.equal((await send(url, 'POST', '/v1/chat/completions', BODY, headers)).status, 200);
  t.equal((await send(url, 'POST', '/v1/chat/completions', BODY)).status, 401);
  t.ok(
    statSync(join(dir, 'data', 'journal')).isDirectory(),
    'its data is below the folder that it was started in',
  );
  proxy.kill('SIGINT');
  t.match(await proxy.ended, { code: 0, out: '' });

  const more = { CONFIG_FILE_PATH: 'gateway.yaml', THROUGHLINE_LOG_LEVEL: '' };
  const other = startCli(t, ['serve', '--data-dir', ''], { cwd: dir, env: { ...env, ...more } });
  const [, , again = ''] = await other.said(SERVES);
  t.equal((await send(again, 'GET', '/v1/models', undefined, headers)).status, 200);
  t.strictSame(readdirSync(dir).toSorted(), ['data', 'gateway.yaml'], 'nothing else is written there');
});

const systemNode = systemProgram('node');
t.test(
  'the launcher runs under the Node of the machine, hands over to a fit one, and passes signals on',
  { skip: systemNode === null ? 'there is no node on the path but the one of this checkout' : false },
  async (t) => {
    const dir = folder(t);
    const command = [systemNode as string, join(ROOT, 'bin', 'throughline.js')] as const;
    const args = [
      'serve',
      '--config',
      configIn(dir),
      '--host',
      '127.0.0.1',
      '--port',
      '0',
      '--data-dir',
      join(dir, 'data'),
    ];
    const proxy = startCli(t, args, { command });
    const [, , url = ''] = await proxy.said(SERVES);
    t.equal((await send(url, 'POST', '/v1/chat/completions', BODY)).status, 200);
    configIn(dir, defaultConfig(demo).replace('model_name: compat\n', 'model_name: renamed\n'));
    proxy.kill('SIGHUP');
    await proxy.said(/"msg":"configuration applied"/);
    proxy.kill('SIGTERM');
    const { code, out } = await proxy.ended;
    t.equal(code, 0);
    t.match(out, /"msg":"stopped"/, 'the real program ended in order');
    const wrong = await runCli(t, ['frobnicate'], { command });
    t.match(wrong, { code: 2, err: /^throughline: unknown command 'frobnicate'/ }, 'exit codes come through');
  },
);

const withoutCurl = systemProgram('curl') === null ? 'curl is not on this machine' : false;

t.test(
  'start prints a base URL, a key, and commands that work as they stand',
  { skip: withoutCurl },
  async (t) => {
    const dir = folder(t);
    const start = ['start', '--port', '0', '--host', '127.0.0.1', '--data-dir', join(dir, 'data')];
    // A key left in the shell must not make the printed one wrong.
    const proxy = startCli(t, start, { env: { PROXY_MASTER_KEY: 'sk-left-over' } });
    const [welcome] = await proxy.said(/Throughline is running[\s\S]*Ctrl-C stops it\.\n/);
    const [, base = ''] = /base URL\s+(\S+)/.exec(welcome) ?? [];
    const [, key = ''] = /agent key\s+(\S+)/.exec(welcome) ?? [];
    const [, master = ''] = /master key\s+(\S+)/.exec(welcome) ?? [];
    const spend = (one: string): ReturnType<typeof send> =>
      send(base.replace(/\/v1$/, ''), 'GET', '/spend/logs', undefined, { authorization: `Bearer ${one}` });
    t.equal((await spend(master)).status, 200);
    t.equal((await spend(key)).status, 403, 'the key that agents get opens no rows');
    const models = await send(base.replace(/\/v1$/, ''), 'GET', '/v1/models', undefined, {
      authorization: `Bearer ${key}`,
    });
    t.equal(models.status, 200);
    t.match(models.text, /"id":"demo-echo"/);
    t.match(welcome, /Next: .*config\/samples\/quickstart\.yaml/);

    const [, chat = ''] = /^ {4}(curl (?:.*\\\n)*.*)$/m.exec(welcome) ?? [];
    const streamed = execFileSync('sh', ['-c', `${chat} -sS`], { encoding: 'utf8' });
    t.match(streamed, /^data: \{.*"content"/m);
    t.match(streamed, /data: \[DONE\]\n\n$/);
    const [, report = ''] = /^ {4}throughline (spend .*)$/m.exec(welcome) ?? [];
    const { code, out } = await runCli(t, report.split(' '));
    t.equal(code, 0);
    t.match(out, /^session +calls .*\n-+.*\nmy-first-session +1 /m, 'a table that a person can read');
    proxy.kill('SIGINT');
    t.match(await proxy.ended, { code: 0 });
  },
);

t.test('the quickstart reaches its demo gateway whatever outgoing proxy the shell names', async (t) => {
  const env = { HTTP_PROXY: 'http://127.0.0.1:1', ALL_PROXY: 'socks5://127.0.0.1:1', NO_PROXY: 'a.example' };
  const cli = startCli(t, ['start', '--port', '0'], { cwd: folder(t), env });
  const [, url = ''] = await cli.said(/base URL +(http:\/\/127\.0\.0\.1:\d+)\/v1/);
  const headers = { authorization: 'Bearer sk-quickstart' };
  t.equal((await send(url, 'POST', '/v1/chat/completions', BODY, headers)).status, 200);
  cli.kill('SIGTERM');
  t.match(await cli.ended, { code: 0 });
});

t.test(
  'what the quickstart names can be copied: its sample, and the command as it was started',
  async (t) => {
    const copied = async (cwd: string, startedBy: string): Promise<RegExpExecArray> => {
      const options = { cwd, env: { npm_lifecycle_event: startedBy } };
      const cli = startCli(t, ['start', '--port', '0', '--data-dir', folder(t)], options);
      return cli.said(
        /by session:\n\n +(.*) spend report[^]*Next: copy (\S+), [^]*check --config my\.yaml\n +(.*) --config my/,
      );
    };
    t.match(await copied(ROOT, 'start'), {
      1: 'npx throughline',
      2: 'config/samples/quickstart.yaml',
      3: 'npm start --',
    });
    t.match(await copied(folder(t), 'npx'), {
      1: 'npx throughline',
      2: join(ROOT, 'config/samples/quickstart.yaml'),
      3: 'npx throughline start',
    });
  },
);

t.test('an outgoing proxy that is none is one sentence at the start', async (t) => {
  const cwd = folder(t);
  const config = join(cwd, 'gateway.yaml');
  const params = '{ model: openai/x, api_base: "https://a.example/v1", api_key: k }';
  writeFileSync(
    config,
    `model_list: [{ model_name: a, litellm_params: ${params} }]\ngeneral_settings: { master_key: sk-m }\n`,
  );
  const env = { ALL_PROXY: 'socks5://127.0.0.1:1' };
  const { code, err } = await runCli(t, ['serve', '--config', config, '--port', '0'], { cwd, env });
  t.match({ code, err }, { code: 1, err: /^throughline: ALL_PROXY must be the URL of an HTTP proxy, .*\n$/ });
});

t.test('two quickstarts run beside each other, and a taken port names a free one', async (t) => {
  const cwd = folder(t);
  const first = startCli(t, ['start', '--port', '0'], { cwd });
  const [, port = ''] = await first.said(/base URL +http:\/\/127\.0\.0\.1:(\d+)\/v1/);
  await t.rejects(
    runWithin(['start', '--port', port], { cwd, env: { npm_lifecycle_event: 'start' } }),
    { name: 'CannotStart', message: new RegExp(`^port ${port} is in use - try npm start -- --port \\d+$`) },
    'in the words by which it was started',
  );
  let proposed = '';
  const follow = async (): Promise<Cli> => {
    const { code, out, err } = await runCli(t, ['start', '--port', port], { cwd });
    t.match({ code, out }, { code: 1, out: '' });
    const says = new RegExp(`^throughline: port ${port} is in use - try throughline start --port (\\d+)\n$`);
    proposed = says.exec(err)?.[1] ?? '';
    t.ok(Number(proposed) > Number(port), err);
    const second = startCli(t, ['start', '--port', proposed], { cwd, env: { THROUGHLINE_DATA_DIR: '' } });
    const [said] = await second.said(/Ctrl-C stops it|port \d+ (?:of \S+ )?is in use/);
    return said.startsWith('port') ? follow() : second; // a program beside the tests may have taken it meanwhile
  };
  const second = await follow();
  const [, demoUrl = ''] = await second.said(/demo gateway behind it \((\S+)\)/);
  const url = `http://127.0.0.1:${proposed}`;
  const headers = { authorization: 'Bearer sk-quickstart' };
  t.equal((await send(url, 'POST', '/v1/chat/completions', BODY, headers)).status, 200);
  t.match(demoUrl, /^http:\/\/127\.0\.0\.1:\d+$/);
  t.ok(statSync(join(cwd, 'data', `port-${proposed}`, 'journal')).isDirectory());
  second.kill('SIGTERM');
  t.match(await second.ended, { code: 0 });
});
