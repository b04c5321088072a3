// `throughline keys` and `teams` as an operator meets them, on a proxy that runs.
import { hash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { CannotStart } from '../../../proxy/errors/cannot-start.ts';
import { UsageError } from '../../../proxy/cli/terminal.ts';
import { runCli, runWithin } from '../../support/cli.ts';
import { KEY, chat, startRig } from '../../support/rig.ts';

const SENTENCE = /^[^\n]+$/;

t.test('keys and teams', async (t) => {
  const rig = await startRig(t);
  writeFileSync(join(rig.folder, 'key'), `${KEY}\n`);
  const run = (...args: string[]) =>
    runWithin([...args, '--url', rig.url, '--key-file', 'key'], { cwd: rig.folder });
  const wrong = (...args: string[]): Promise<unknown> => run(...args).catch((error: unknown) => error);
  const callWith = async (key: string): Promise<number> =>
    (await chat(rig, 'demo', {}, { authorization: `Bearer ${key}` })).status;

  t.test('a key is printed alone to stdout, is served, found, shown, blocked and deleted', async (t) => {
    await run('teams', 'create', '--id', 'core', '--alias', 'Core', '--max-budget', '100');
    const args = [
      '--alias',
      'ci',
      '--team',
      'core',
      '--model',
      'demo',
      '--duration',
      '90d',
      '--max-budget',
      '20',
    ];
    const made = await runWithin(['keys', 'create', ...args, '--url', rig.url], {
      env: { THROUGHLINE_MASTER_KEY: KEY },
    });
    t.match(made, { code: 0, out: /^sk-[A-Za-z0-9]{48}\n$/ });
    const key = made.out.trim();
    const token = hash('sha256', key, 'hex');
    t.match(made.err, new RegExp(`^made key ${token}, valid until 20.*\n$`));
    const slip = await run('keys', 'create', '--alias', 'slip', '--team', 'cores', '--model', 'demos');
    t.match(
      slip.err,
      /^warning: team_id: cores is no team here; .*\nwarning: models: demos is no model here/m,
    );
    await run('keys', 'revoke', 'slip');
    t.equal(await callWith(key), 200);
    const table = await run('keys', 'list', '--team', 'core');
    t.match(table.out, /^alias +key +status +team +user +expires +spent USD +budget USD +SHA-256\n/);
    t.match(
      table.out,
      new RegExp(`^ci +sk-\\.\\.\\.${key.slice(-4)} +active +core .* 20\\.00 +${token}$`, 'm'),
    );
    t.notMatch(table.out, key);
    const shown = await run('keys', 'info', 'ci');
    t.match(shown.out, new RegExp(`^token: ${token}\n`));
    t.match(shown.out, /^models: \["demo"\]$/m);
    const json = await run('keys', 'info', token, '--json');
    t.match(JSON.parse(json.out), { token, key_alias: 'ci', max_budget: 20, team_id: 'core' });
    t.match(await run('keys', 'revoke', 'ci', '--block'), { out: '', err: `blocked ci (${token})\n` });
    t.equal(await callWith(key), 401);
    t.match((await run('keys', 'list')).out, /^ci +sk-\S+ +blocked /m);
    t.match(await run('keys', 'revoke', token), { out: '', err: `deleted ci (${token})\n` });
    t.equal(await callWith(key), 401);
    t.match(await run('keys', 'list'), { out: '', err: 'there are no such keys\n' });
  });

  t.test('a list has all pages', async (t) => {
    for (let n = 0; n < 101; n++) await run('keys', 'create', '--alias', `many-${n}`, '--user', 'many');
    const { out } = await run('keys', 'list', '--user', 'many', '--json');
    t.equal((JSON.parse(out) as unknown[]).length, 101);
  });

  t.test('teams are made, listed and deleted with their keys', async (t) => {
    const { out: id } = await run('teams', 'create', '--alias', 'Temporary');
    t.match(id, /^[0-9a-f-]{36}\n$/);
    const team = id.trim();
    const { out: key } = await run('keys', 'create', '--team', team);
    t.match(
      (await run('teams', 'list')).out,
      new RegExp(`^${team} +Temporary +active +0 +1 +0\\.00 +all$`, 'm'),
    );
    const missing = await wrong('teams', 'delete', team, 'nowhere');
    t.match(missing, { message: 'there is no team with the id nowhere' });
    t.equal(await callWith(key.trim()), 200);
    t.match(await run('teams', 'delete', team), { out: '', err: `deleted ${team} with 1 key\n` });
    t.equal(await callWith(key.trim()), 401);
  });

  t.test('what the proxy refuses is one sentence', async (t) => {
    await run('keys', 'create', '--alias', 'taken');
    for (const [args, message] of [
      [['keys', 'create', '--alias', 'taken'], /answers 400: Key with alias 'taken' already exists\./],
      [['keys', 'create', '--budget-duration', 'soon'], /answers 400: Invalid budget_duration/],
      [['keys', 'create', '--rpm', '1.5'], /answers 4\d\d: .*rpm_limit/],
      [['keys', 'revoke', 'nobody'], /^there is no key with the alias nobody$/],
      [['keys', 'info', '0'.repeat(64)], /^there is no key with the SHA-256 0+$/],
      [['teams', 'delete', 'nowhere'], /^there is no team with the id nowhere$/],
    ] as const) {
      const error = await wrong(...args);
      t.type(error, CannotStart);
      t.match((error as Error).message, message);
      t.match((error as Error).message, SENTENCE);
    }
  });

  t.test('keys are no arguments, and a command without one says where it comes from', async (t) => {
    const value = await wrong('keys', 'revoke', KEY);
    t.type(value, UsageError);
    t.match((value as Error).message, /not by its value/);
    t.notMatch((value as Error).message, KEY);
    const list = ['keys', 'list', '--url', rig.url];
    await t.rejects(runWithin(list), { name: 'UsageError', message: /^there is no key .* --key-file .*$/ });
    const bad = await runWithin(list, { env: { LITELLM_MASTER_KEY: 'sk-wrong' } }).catch((e: unknown) => e);
    t.type(bad, CannotStart);
    t.match((bad as Error).message, / answers 401: .* --key-file$/);
    t.notMatch((bad as Error).message, /sk-wrong/);
    for (const args of [
      ['keys', 'list', '--key-file', 'nowhere'],
      ['keys', 'list', '--url', 'localhost:4000'],
      ['keys', 'list', '--url', 'http://ada:secret@localhost:4000'],
      ['keys', 'create', '--max-budget', 'much'],
      ['keys', 'create', '--max-budget', '-1'],
      ['keys', 'create', '--type', 'admin'],
    ]) {
      const error = await runWithin(args, { env: { LITELLM_MASTER_KEY: KEY } }).catch((e: unknown) => e);
      t.type(error, UsageError, args.join(' '));
      t.notMatch((error as Error).message, 'secret');
    }
  });

  t.test('a proxy that is away, and one that redirects, get no key', async (t) => {
    const seen: (string | undefined)[] = [];
    const other = createServer((request, response) => {
      seen.push(request.headers.authorization);
      response.writeHead(307, { location: `${rig.url}/key/list` }).end();
    });
    await new Promise<void>((listening) => other.listen(0, '127.0.0.1', listening));
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const options = { env: { LITELLM_MASTER_KEY: KEY } };
    const redirected = await runWithin(['keys', 'list', '--url', url], options).catch((e: unknown) => e);
    t.match((redirected as Error).message, /does not answer \(.*redirect/);
    t.equal(seen.length, 1);
    other.closeAllConnections();
    await new Promise((closed) => other.close(closed));
    const secure = rig.url.replace('http:', 'https:');
    const noTls = await runWithin(['keys', 'list', '--url', secure], options).catch((e: unknown) => e);
    t.equal(
      (noTls as Error).message,
      `the proxy at ${secure} does not answer (the port speaks no TLS: write ${rig.url}) - see --url`,
    );
    const away = await runWithin(['teams', 'list', '--url', url], options).catch((e: unknown) => e);
    t.match((away as Error).message, /does not answer \(.*ECONNREFUSED.* - see --url$/);
  });

  t.test('the shell completes flags of subcommands', async (t) => {
    const flags = await runCli(t, ['complete', '--', 'keys', 'create', '--budget']);
    t.match(flags.out, /--budget-duration/);
  });
});
