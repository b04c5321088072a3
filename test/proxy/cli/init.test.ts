// `throughline init`: by flags, by questions, and with a gateway that lists its models.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { folder, runWithin } from '../../support/cli.ts';

const URL_FLAG = ['--url', 'https://gateway.example.com'];

async function gateway(t: {
  teardown(act: () => unknown): unknown;
}): Promise<{ url: string; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.url} ${request.headers.authorization}`);
    if (request.headers.authorization !== 'Bearer sk-right') return void response.writeHead(401).end();
    response.end(
      JSON.stringify({
        data: ['claude', 'team/gpt-4o', 'claude', 'odd\nname', 'echo-sk-right', 1].map((id) => ({ id })),
      }),
    );
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

t.test('by flags: a checked file without a secret, and one next command', async (t) => {
  const dir = folder(t);
  const run = (...args: string[]) =>
    runWithin(['init', ...args], { cwd: dir, env: { MY_KEY: 'sk-very-s3cret' } });
  const { code, out, err } = await run(
    ...URL_FLAG,
    '--models',
    'a, b,a',
    '--key-variable',
    'MY_KEY',
    '--port',
    '4100',
    '--yes',
  );
  t.match({ code, err }, { code: 0, err: '' });
  t.match(
    out,
    /^written: gateway\.yaml with 2 models and \.env\.example\nnext, .*\n {2}set -a; \. \.\/\.env; set \+a\n {2}throughline serve --config gateway\.yaml --port 4100\n$/,
  );
  const text = readFileSync(join(dir, 'gateway.yaml'), 'utf8');
  t.match(text, /^# yaml-language-server: \$schema=/);
  t.match(
    text,
    /model: litellm_proxy\/b\n {6}api_base: https:\/\/gateway\.example\.com\n {6}api_key: os\.environ\/MY_KEY/,
  );
  const example = readFileSync(join(dir, '.env.example'), 'utf8');
  t.match(example, /^MY_KEY=\n[^]*^PROXY_MASTER_KEY=\n[^]*^PORT=4100\n/m);
  t.notMatch(text + example + out, /s3cret/);
  t.match(
    await runWithin(['check', '--strict', '--config', 'gateway.yaml'], {
      cwd: dir,
      env: { MY_KEY: 'sk-x', PROXY_MASTER_KEY: 'sk-y' },
    }),
    { code: 0, out: /^ok: 2 model entries/ },
  );
  await t.rejects(run(...URL_FLAG, '--models', 'c'), { message: /gateway\.yaml exists already/ });
  t.equal(readFileSync(join(dir, 'gateway.yaml'), 'utf8'), text);
  writeFileSync(join(dir, '.env.example'), 'MINE=1\n');
  t.match(await run(...URL_FLAG, '--models', 'c', '--out', 'other.yaml'), {
    out: /\.env\.example exists and stays\nnext, with GATEWAY_KEY and PROXY_MASTER_KEY set:\n {2}throughline serve/,
  });
  t.equal(readFileSync(join(dir, '.env.example'), 'utf8'), 'MINE=1\n');
  t.match(await run(...URL_FLAG, '--models', 'c', '--force'), { code: 0 });
});

t.test('the printed line loads .env into the shell, as its comment says', async (t) => {
  for (const out of ['gateway.yaml', 'conf/gateway.yaml']) {
    const dir = folder(t);
    mkdirSync(join(dir, 'conf'));
    const said = await runWithin(['init', ...URL_FLAG, '--models', 'a', '--port', '4100', '--out', out], {
      cwd: dir,
    });
    const [, line = ''] = /^ {2}(set -a; .*)$/m.exec(said.out) ?? [];
    const example = readFileSync(join(dir, out, '../.env.example'), 'utf8');
    t.match(example, /^# .*set -a; \. \.\/\.env; set \+a/m);
    writeFileSync(join(dir, out, '../.env'), example.replace('GATEWAY_KEY=', 'GATEWAY_KEY=sk-1'));
    const environment = execFileSync('sh', ['-c', `${line}; env`], { cwd: dir, encoding: 'utf8', env: {} });
    t.match(environment, /^GATEWAY_KEY=sk-1$/m, out);
    t.match(environment, /^PORT=4100$/m, out);
  }
});

t.test('without a terminal the missing flags are named, and nothing is written', async (t) => {
  const dir = folder(t);
  const cases: readonly (readonly [args: readonly string[], says: RegExp])[] = [
    [[], /^nobody can be asked here - give --url URL and --models NAMES$/],
    [['--yes', ...URL_FLAG], /^--yes asks nothing - give --models NAMES$/],
    [[...URL_FLAG, '--models', ' , '], /^no model is named/],
    [['--url', 'gateway', '--models', 'a'], /^--url must be a URL that begins with http/],
    [
      ['--url', 'https://me:pass@gateway.example.com', '--models', 'a'],
      /^--url must not contain credentials/,
    ],
    [[...URL_FLAG, '--models', 'a', '--key-variable', 'sk-a-key'], /takes the name of a variable, not a key/],
    [[...URL_FLAG, '--models', 'a', '--port', 'x'], /^x is not a port/],
    [[...URL_FLAG, '--models', 'a', '--gateway', 'bifrst'], /did you mean bifrost/],
    [['--url', 'http://127.0.0.1:9', '--models', 'all'], /^--models all: the gateway does not answer/],
    [
      [...URL_FLAG, '--models', 'a', '--out', 'nowhere/x.yaml'],
      /cannot be written \(its folder does not exist, or takes no files\)/,
    ],
  ];
  for (const [args, says] of cases)
    await t.rejects(runWithin(['init', ...args], { cwd: dir }), { message: says });
  t.strictSame(readdirSync(dir), []);
});

t.test('with a terminal four questions; models come from the list of the gateway', async (t) => {
  const { url, asked } = await gateway(t);
  const answers: Readonly<Record<string, string>> = {
    Address: url,
    Kind: 'openai',
    Environment: 'GW',
    Models: '',
    Port: '',
  };
  for (const [key, models] of [
    ['sk-right', ['claude', 'team/gpt-4o']],
    ['sk-wrong', ['mine']],
  ] as const) {
    const dir = folder(t);
    const questions: string[] = [];
    const ask = async (question: string): Promise<string> => {
      questions.push(question);
      const word = question.split(' ')[0] ?? '';
      return word === 'Models,' ? (key === 'sk-right' ? '' : 'mine') : (answers[word] ?? '');
    };
    const { code, err } = await runWithin(['init'], { cwd: dir, env: { GW: key }, ask });
    t.equal(code, 0);
    t.equal(questions.length, 5);
    t.match(err, key === 'sk-right' ? /the gateway offers: claude, team\/gpt-4o\n/ : /answers 401/);
    const text = readFileSync(join(dir, 'gateway.yaml'), 'utf8');
    for (const model of models)
      t.ok(text.includes(`model: openai/${model}\n      api_base: ${url}/v1\n`), text);
    t.notMatch(text, /odd|sk-/);
  }
  t.strictSame(asked, ['/v1/models Bearer sk-right', '/v1/models Bearer sk-wrong']);
  const dir = folder(t);
  await t.rejects(runWithin(['init'], { cwd: dir, ask: async () => '' }), { message: /there is no default/ });
  t.notOk(existsSync(join(dir, 'gateway.yaml')));
});
