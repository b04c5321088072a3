// Recordings of calls, from outside: what is in a file and what never is, who may ask for one, what bounds them, and that no call
// notices. Replay and playback of what was recorded.
import {
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createPublicKey, hash } from 'node:crypto';
import { join } from 'node:path';
import { tempDir } from '../proxy/spend/store/fixture/temp-dir.ts';
import t from 'tap';
import type { CapsuleMetadata } from '../../proxy/capsule/format.ts';
import { runProgram } from '../../proxy/cli/program.ts';
import { runWithin } from '../support/cli.ts';
import { ManualClock } from '../support/clock.ts';
import { manage, managed, newKey, list } from '../support/manage.ts';
import { chat, defaultConfig, KEY, send, startRig, type Answer, type Rig } from '../support/rig.ts';

const PROMPT = 'the secret recipe of the house';
const messages = [{ role: 'user', content: PROMPT }];
const keys = await runKeygen();

async function runKeygen(): Promise<{ folder: string; publicKey: string; privateKey: string }> {
  const folder = t.testdir();
  const made = await runWithin(['capsule', 'keygen', '--out', 'private.pem'], { cwd: folder });
  await runWithin(['capsule', 'keygen', '--out', 'other.pem'], { cwd: folder });
  return { folder, publicKey: made.out.trim(), privateKey: join(folder, 'private.pem') };
}

const capsulesOf = (more = ''): string =>
  `  capsules: { keep_bodies: true, public_key: "${keys.publicKey}"${more} }\n`;
const folderOf = (rig: Rig): string => join(rig.folder, 'data', 'capsules');
const filesIn = (rig: Rig): string[] =>
  readdirSync(folderOf(rig)).filter((name) => name.endsWith('.capsule'));
/** Resolves when everything that has ended is written. */
const written = (rig: Rig): Promise<void> =>
  rig.gateway.reloader.active.services.capsules?.idle ?? Promise.resolve();

const idOf = ({ headers }: Answer): string => String(headers['x-litellm-call-id']);
const metadataIn = (file: string): CapsuleMetadata =>
  JSON.parse(file.split('\n')[0] ?? '') as CapsuleMetadata;

/** The capsule of an answer. */
async function capsuleOf(rig: Rig, answer: Answer): Promise<{ file: string; metadata: CapsuleMetadata }> {
  await written(rig);
  const file = readFileSync(join(folderOf(rig), `${idOf(answer)}.capsule`), 'utf8');
  return { file, metadata: metadataIn(file) };
}

t.test('off: nothing can be asked for', async (t) => {
  const rig = await startRig(t);
  t.match(await manage(rig, 'POST /capsules', { session_id: 'x' }), {
    status: 400,
    json: { error: { code: 'capsules_off' } },
  });
  t.equal(existsSync(folderOf(rig)), false);
});

t.test('one proxy', async (t) => {
  const clock = new ManualClock();
  const rig = await startRig(t, {
    clock,
    config: (demo) =>
      defaultConfig(demo, capsulesOf(', max_capsule_bytes: 1048576')).replace(
        'general_settings:',
        `  - { model_name: two, litellm_params: { model: litellm_proxy/demo-500, api_base: "${demo.url}", order: 1 } }
  - { model_name: two, litellm_params: { model: litellm_proxy/demo, api_base: "${demo.url}", order: 2 } }
router_settings: { disable_cooldowns: true }
general_settings:`,
      ),
  });
  writeFileSync(join(rig.folder, 'key'), KEY);
  const key = await newKey(rig, { key_alias: 'agent' });
  const withKey = { authorization: `Bearer ${key}`, 'x-litellm-session-id': 's-1', 'x-mine': 'my own' };
  const ask = (body: object, headers: Record<string, string> = withKey): Promise<Answer> =>
    send(rig.url, 'POST', '/v1/chat/completions', body, headers);
  const cli = (...args: string[]) => runWithin(args, { cwd: rig.folder });
  const admin = ['--url', rig.url, '--key-file', 'key'];

  t.test('nobody has asked: no file', async (t) => {
    await chat(rig, 'demo');
    await written(rig);
    t.same(filesIn(rig), []);
  });

  t.test('without bodies: sizes, times, digests, and headers of a list', async (t) => {
    const made = await cli('capsule', 'on', '--key', 'agent', '--minutes', '5', ...admin);
    t.match(made.out, /^order-[0-9a-f]{12}\n$/);
    const answer = await ask({ model: 'demo', messages, stream: true });
    t.notOk(answer.broken);
    const { file, metadata } = await capsuleOf(rig, answer);
    for (const secret of [PROMPT, 'recipe', key, KEY, 'sk-upstream-secret', 'heard', 'my own'])
      t.notOk(file.includes(secret), `no ${secret}`);
    t.equal(statSync(join(folderOf(rig), `${idOf(answer)}.capsule`)).mode & 0o777, 0o600);
    t.equal(statSync(folderOf(rig)).mode & 0o777, 0o700);
    const seen = rig.demo.seen.at(-1);
    t.match(metadata, {
      capsule: 1,
      id: idOf(answer),
      rule: made.out.trim(),
      call: {
        endpoint: 'chat/completions',
        model: 'demo',
        stream: true,
        session_id: 's-1',
        key_alias: 'agent',
      },
      attempts: [{ model: 'demo', api_base: rig.demo.url, head: { status: 200 }, end: 'whole', error: null }],
      response: { head: { status: 200 }, end: 'whole' },
      end: { end_reason: 'complete', http_status: 200 },
      sealed: null,
    });
    t.equal(metadata.call['key_hash'], hash('sha256', key, 'hex'));
    const [attempt] = metadata.attempts;
    t.equal(attempt?.request.body.sha256, hash('sha256', seen?.body ?? '', 'hex'), 'as the gateway saw it');
    t.equal(metadata.response.body.sha256, hash('sha256', answer.body, 'hex'), 'as the client saw it');
    t.ok((attempt?.response.pieces.length ?? 0) >= 1);
    t.same(
      metadata.request.headers.filter(([name]) => ['authorization', 'x-mine'].includes(name)),
      [
        ['authorization', null],
        ['x-mine', null],
      ],
    );
    t.ok(
      metadata.attempts[0]?.request.headers.some(
        ([name, value]) => name === 'content-type' && value !== null,
      ),
    );
    const shown = await cli('capsule', 'show', idOf(answer), ...admin);
    t.match(shown.out, /attempt 1: demo at http.*\n/);
    t.match(shown.out, /It holds sizes, times and digests/);
    t.equal((await cli('capsule', 'open', idOf(answer), '--private-key', keys.privateKey, ...admin)).code, 3);
    await cli('capsule', 'off', made.out.trim(), ...admin);
    const after = await ask({ model: 'demo', messages });
    await written(rig);
    t.notOk(filesIn(rig).includes(`${idOf(after)}.capsule`), 'it has ended');
  });

  t.test('with bodies: sealed for the operator alone', async (t) => {
    await managed(rig, 'POST /capsules', { session_id: 's-2', bodies: true, minutes: 5 });
    const other = await ask({ model: 'demo', messages });
    const body = { model: 'demo', messages, stream: true };
    const answer = await ask(body, { ...withKey, 'x-litellm-session-id': 's-2' });
    const { file, metadata } = await capsuleOf(rig, answer);
    t.notOk(filesIn(rig).includes(`${idOf(other)}.capsule`), 'another conversation');
    t.notOk(file.includes('recipe') || file.includes(Buffer.from('recipe').toString('base64').slice(0, 6)));
    t.match(metadata.sealed, { bytes: Number });
    const show = ['capsule', 'show', idOf(answer), '--out', 'c.capsule', ...admin];
    await cli(...show);
    await t.rejects(cli(...show), { message: /^c\.capsule exists already - name another file$/ });
    const opened = await cli(
      'capsule',
      'open',
      'c.capsule',
      '--private-key',
      keys.privateKey,
      '--out',
      'parts',
    );
    t.equal(opened.code, 0);
    const part = (name: string): string => readFileSync(join(rig.folder, 'parts', name), 'utf8');
    t.equal(part('request'), JSON.stringify(body));
    t.equal(part('attempt-1-request'), rig.demo.seen.at(-1)?.body.toString());
    t.equal(part('response'), answer.text);
    t.match((await cli('capsule', 'open', 'c.capsule', '--private-key', keys.privateKey)).out, PROMPT);

    const wrong = async (name: string, text: string, words: RegExp, privateKey = keys.privateKey) => {
      writeFileSync(join(rig.folder, 'w.capsule'), text);
      const { code, err } = await cli('capsule', 'open', 'w.capsule', '--private-key', privateKey);
      t.equal(code, 3, name);
      t.match(err, words, name);
    };
    const lines = file.split('\n');
    const changed = lines.with(1, (lines[1] ?? '').replace(/A/, 'B')).join('\n');
    await wrong('another key', file, /sealed for the key/, join(keys.folder, 'other.pem'));
    await wrong('no key', file, /no X25519 private key/, join(rig.folder, 'key'));
    await wrong('edited metadata', file.replace('"s-2"', '"s-3"'), /changed after it was written/);
    await wrong('edited content', changed, /changed after it was written/);
    await wrong('a part is missing', lines.toSpliced(1, 1).join('\n'), /torn/);
    await wrong('twice the same part', lines.toSpliced(1, 0, lines[1] ?? '').join('\n'), /changed|torn/);
    await wrong('no capsule', 'hello', /no capsule/);
    await wrong('half of one', JSON.stringify({ capsule: 1 }), /lack/);
    await wrong('of the future', JSON.stringify({ capsule: 2 }), /version 2/);
    writeFileSync(join(rig.folder, 'w.capsule'), file.replace('"s-2"', '"s-3"'));
    t.match((await cli('capsule', 'show', 'w.capsule')).out, /WARNING/);
  });

  t.test('each attempt, cut streams, refusals, a fault by name', async (t) => {
    const { id } = await managed(rig, 'POST /capsules', { key, bodies: true });
    const moved = await capsuleOf(rig, await ask({ model: 'two', messages }));
    t.match(moved.metadata.attempts, [
      { model: 'demo-500', head: { status: 500 }, end: 'whole' },
      { model: 'demo', head: { status: 200 }, end: 'whole' },
    ]);
    const cut = await capsuleOf(rig, await ask({ model: 'demo-cut', messages, stream: true }));
    t.match(cut.metadata, {
      attempts: [{ end: 'broken', error: String }],
      response: { end: 'cut' },
      end: { end_reason: 'truncated' },
    });
    const refused = await capsuleOf(rig, await ask({ model: 'nothing', messages }));
    t.match(refused.metadata, {
      attempts: [],
      response: { head: { status: 404 } },
      end: { end_reason: 'refused' },
    });
    const noJson = await capsuleOf(
      rig,
      await send(rig.url, 'POST', '/v1/chat/completions', Buffer.from('{'), withKey),
    );
    t.match(noJson.metadata, { call: { key_alias: 'agent' }, response: { head: { status: 400 } } });
    await managed(rig, 'POST /key/update', { key, metadata: { allow_chaos: true } });
    const chaos = await capsuleOf(rig, await ask({ model: 'chaos/429/demo', messages }));
    t.match(chaos.metadata, { attempts: [{ head: { status: 429 } }], end: { warnings: [/chaos/] } });
    await managed(rig, `DELETE /capsules/${String(id)}`);
  });

  t.test('a huge stream is counted to its end and kept up to the bound', async (t) => {
    await managed(rig, 'POST /capsules', { session_id: 's-4', bodies: true });
    const headers = { ...withKey, 'x-litellm-session-id': 's-4' };
    const answer = await ask({ model: 'demo-huge', messages, stream: true }, headers);
    t.notOk(answer.broken);
    const { file, metadata } = await capsuleOf(rig, answer);
    t.equal(metadata.response.body.bytes, answer.body.length);
    t.equal(metadata.response.body.sha256, hash('sha256', answer.body, 'hex'));
    t.ok((metadata.sealed?.bytes ?? Infinity) <= 1_048_576);
    t.ok(file.length < 3_000_000);
    t.equal(metadata.call['is_cut'], true);
  });

  t.test('what a recording must say', async (t) => {
    const wrong = [
      {},
      { key: 'agent', session_id: 's' },
      { key: 'nobody' },
      { key: 7 },
      { session_id: 'a b' },
      { session_id: 's', minutes: 0 },
      { session_id: 's', minutes: 1441 },
      { session_id: 's', minutes: '5' },
      { session_id: 's', bodies: 'yes' },
      { session: 's' },
    ];
    for (const body of wrong) {
      const { status, json } = await manage(rig, 'POST /capsules', body);
      t.match([status, json], [400, { error: { code: 'invalid_parameter' } }], JSON.stringify(body));
    }
    t.equal(
      (await manage(rig, 'POST /capsules', { session_id: 's' }, key)).status,
      403,
      'administrators only',
    );
    t.equal((await manage(rig, 'GET /capsules', undefined, key)).status, 403);
  });

  t.test('ids are ids: no path leads out of the folder', async (t) => {
    const id = '01234567-89ab-7def-8123-456789abcdef';
    symlinkSync(join(rig.folder, 'gateway.yaml'), join(folderOf(rig), `${id}.capsule`));
    for (const name of [
      id,
      '..%2Fgateway.yaml',
      '%2e%2e%2fgateway',
      'x%00',
      `${id}%2F..`,
      id.toUpperCase(),
    ]) {
      const { status, text } = await send(rig.url, 'GET', `/capsules/${name}`);
      t.equal(status, 404, name);
      t.notMatch(text, 'model_list');
    }
    t.equal((await send(rig.url, 'DELETE', '/capsules/..%2Fgateway.yaml')).status, 404);
    t.ok(existsSync(rig.configPath));
  });

  t.test('listed, read and removed, with audit lines and metrics', async (t) => {
    const shown = await managed(rig, 'GET /capsules');
    const [newest] = list(shown['capsules']);
    const id = String(newest?.['id']);
    const got = await send(rig.url, 'GET', `/capsules/${id}`);
    t.match(got, { status: 200, headers: { 'content-type': /jsonl/ } });
    t.match((await cli('capsule', 'list', ...admin)).out, new RegExp(id));
    await cli('capsule', 'off', id, ...admin);
    t.equal((await manage(rig, `GET /capsules/${id}`)).status, 404);
    const actions = rig.log.filter((line) => line['event'] === 'admin_change').map((line) => line['action']);
    for (const action of ['capsule_order', 'capsule_read', 'capsule_delete'])
      t.ok(actions.includes(action), action);
    t.match(
      (await send(rig.url, 'GET', '/metrics')).text,
      /throughline_capsules_written_total [1-9]\d*\n[\s\S]*throughline_capsules_dropped_total\{why="busy"\} 0/,
    );
    const order = rig.log.find((line) => line['action'] === 'capsule_order' && line['outcome'] === 'applied');
    t.notMatch(JSON.stringify(order), key, 'no key in the log');
  });

  t.test('it ends by itself, and old files go', async (t) => {
    const before = list((await managed(rig, 'GET /capsules'))['orders']).length;
    t.ok(before > 0);
    clock.advance(16 * 60_000);
    t.same((await managed(rig, 'GET /capsules'))['orders'], []);
    const answer = await ask({ model: 'demo', messages }, { ...withKey, 'x-litellm-session-id': 's-2' });
    await written(rig);
    t.notOk(filesIn(rig).includes(`${idOf(answer)}.capsule`));
    clock.advance(8 * 86_400_000);
    await managed(rig, 'POST /capsules', { session_id: 's-9' });
    const last = await ask({ model: 'demo', messages }, { ...withKey, 'x-litellm-session-id': 's-9' });
    await written(rig);
    t.same(
      filesIn(rig).filter((name) => !name.startsWith('01234567')),
      [`${idOf(last)}.capsule`],
    );
  });

  t.test('replay', async (t) => {
    await managed(rig, 'POST /capsules', { session_id: 's-5', bodies: true });
    const headers = { ...withKey, 'x-litellm-session-id': 's-5' };
    const options = { stream: true, stream_options: { include_usage: true } }; // else the proxy leaves an event out
    const answer = await ask({ model: 'demo', messages, ...options }, headers);
    await written(rig);
    writeFileSync(join(rig.folder, 'client-key'), key);
    const secrets = ['--private-key', keys.privateKey];
    await cli('capsule', 'show', idOf(answer), '--out', 'r.capsule', ...admin);
    const against = (target: string, ...more: string[]) =>
      cli(
        'replay',
        'r.capsule',
        '--against',
        target,
        ...secrets,
        '--url',
        rig.url,
        '--key-file',
        'client-key',
        ...more,
      );
    const same = await against('demo');
    t.equal(same.code, 0, same.out);
    t.match(same.out, /the same but for ids and clocks/);
    t.match(same.err, /POST .* for demo\n {2}200 after/);
    const gateway = await against(rig.demo.url);
    t.equal(gateway.code, 0, gateway.out);
    t.same(rig.demo.seen.at(-1)?.body, rig.demo.seen.at(-2)?.body, 'the very bytes that went to the gateway');
    const other = await against('demo-cut', '--json');
    t.equal(other.code, 1);
    t.match(JSON.parse(other.out), {
      verdict: 'different',
      end: { recorded: 'whole', replayed: 'broken' },
      events: { first_difference: { event: Number } },
    });
    const nobody = await against('http://127.0.0.1:1');
    t.equal(nobody.code, 1);
    t.match(nobody.out, /broke off/);
    t.match((await against('demo-500')).out, /status +200 +500/);
    await t.rejects(cli('replay', 'r.capsule', ...secrets), /say what to do/);
    await t.rejects(
      cli('replay', 'gone', '--against', 'demo', ...secrets),
      /gone does not exist - check the path/,
    );
    const playing = await playedBack(rig, [
      'replay',
      'r.capsule',
      '--serve',
      '0',
      '--timing',
      'none',
      ...secrets,
    ]);
    const played = await send(playing.url, 'POST', '/v1/chat/completions', { model: 'x', messages });
    t.equal(played.text, answer.text);
    t.equal(played.headers['content-type'], answer.headers['content-type']);
    t.match((await send(playing.url, 'GET', '/v1/models')).text, /"id":"demo"/);
    playing.stop();
    t.equal(await playing.code, 0);
  });

  t.test('calls on a stored response: what was asked, what the gateway answered', async (t) => {
    const headers = { ...withKey, 'x-litellm-session-id': 's-stored' };
    const made = await send(rig.url, 'POST', '/v1/responses', { model: 'demo', input: PROMPT }, headers);
    const { id } = JSON.parse(made.text) as { id: string };
    await managed(rig, 'POST /capsules', { session_id: 's-stored', bodies: true });
    for (const [method, suffix, body] of [
      ['GET', '', undefined],
      ['GET', '/input_items', undefined],
      ['POST', '/cancel', { reason: PROMPT }],
      ['DELETE', '', undefined],
    ] as const) {
      const answer = await send(rig.url, method, `/v1/responses/${id}${suffix}`, body, headers);
      const { file, metadata } = await capsuleOf(rig, answer);
      t.match(metadata, {
        call: { method, path: `responses/${id}${suffix}`, model: 'demo', session_id: 's-stored' },
        attempts: [{ head: { status: answer.status }, end: 'whole' }],
        response: { head: { status: answer.status }, body: { bytes: answer.text.length }, end: 'whole' },
        end: { http_status: answer.status },
      });
      t.equal(metadata.request.body.bytes > 0, body !== undefined);
      for (const secret of [PROMPT, key, 'sk-upstream-secret']) t.notOk(file.includes(secret));
      writeFileSync(join(rig.folder, 'stored.capsule'), file);
    }
    const others = await send(rig.url, 'GET', '/v1/responses/resp_nobody', undefined, headers);
    t.match((await capsuleOf(rig, others)).metadata, {
      attempts: [],
      end: { error_code: 'response_not_found' },
    });
    const again = await cli(
      ...['replay', 'stored.capsule', '--against', 'demo', '--private-key', keys.privateKey],
    );
    t.match(again, { code: 3, err: /stored response.*use --serve/ });
    const playing = await playedBack(rig, [
      'replay',
      'stored.capsule',
      '--serve',
      '0',
      '--private-key',
      keys.privateKey,
    ]);
    const played = await send(playing.url, 'DELETE', `/v1/responses/${id}`);
    t.match(JSON.parse(played.text), { id, deleted: true });
    t.equal((await send(playing.url, 'POST', '/v1/responses', {})).status, 404);
    playing.stop();
    await playing.code;
  });

  t.test('a broken stream is played back broken', async (t) => {
    await managed(rig, 'POST /capsules', { session_id: 's-6', bodies: true });
    const headers = { ...withKey, 'x-litellm-session-id': 's-6' };
    const answer = await ask({ model: 'demo-cut', messages, stream: true }, headers);
    await written(rig);
    await cli('capsule', 'show', idOf(answer), '--out', 'b.capsule', ...admin);
    const playing = await playedBack(rig, [
      'replay',
      'b.capsule',
      '--serve',
      '0',
      '--private-key',
      keys.privateKey,
    ]);
    const played = await send(playing.url, 'POST', '/v1/chat/completions', { model: 'x', messages });
    t.ok(played.broken && played.body.length > 0);
    playing.stop();
    await playing.code;
  });
});

/** `replay --serve` within this process. */
async function playedBack(
  rig: Rig,
  args: readonly string[],
): Promise<{ url: string; stop: () => void; code: Promise<number> }> {
  const url = Promise.withResolvers<string>();
  let stop = (): void => undefined;
  const code = runProgram(args, '1', {
    env: {},
    out: (text) => url.resolve(/http:\/\/[\d.:]+/.exec(text)?.[0] ?? ''),
    err: () => undefined,
    logStyle: 'json',
    onSignal: (_, act) => void (stop = act),
    ask: null,
    cwd: rig.folder,
    home: rig.folder,
  });
  return { url: await url.promise, stop: () => stop(), code };
}

t.test('orders outlive a restart, and bodies need the permission of the file', async (t) => {
  const folder = tempDir(t);
  const plain = '  capsules: {}\n';
  const first = await startRig(t, { folder, config: (demo) => defaultConfig(demo, plain) });
  const { status, json } = await manage(first, 'POST /capsules', { session_id: 's', bodies: true });
  t.match([status, json], [400, { error: { message: /keep_bodies/ } }]);
  await managed(first, 'POST /capsules', { session_id: 's' });
  await first.stop();
  const second = await startRig(t, { folder, config: (demo) => defaultConfig(demo, plain) });
  const answer = await chat(second, 'demo', {}, { 'x-litellm-session-id': 's' });
  t.match((await capsuleOf(second, answer)).metadata, { sealed: null });
  await second.stop();
  const old = new Date(Date.now() - 8 * 86_400_000);
  utimesSync(join(folderOf(second), `${idOf(answer)}.capsule`), old, old);
  const third = await startRig(t, { folder, config: (demo) => defaultConfig(demo, plain) });
  await written(third);
  t.same(filesIn(third), [], 'old files go without a new one');
});

t.test('without the section recording ends at once, and nothing is said to wait for a restart', async (t) => {
  const rig = await startRig(t, { config: (demo) => defaultConfig(demo, capsulesOf()) });
  await managed(rig, 'POST /capsules', { session_id: 's-ended' });
  const ask = () => chat(rig, 'demo', {}, { 'x-litellm-session-id': 's-ended' });
  await ask();
  await written(rig);
  await rig.reconfigure(defaultConfig(rig.demo));
  await ask();
  await written(rig);
  t.equal(filesIn(rig).length, 1);
  t.equal((await manage(rig, 'POST /capsules', { session_id: 's-ended' })).status, 400);
  t.notOk(rig.log.some(({ msg }) => /after a restart/.test(String(msg))));
  await rig.reconfigure(defaultConfig(rig.demo, capsulesOf()));
  await ask();
  await written(rig);
  t.equal(filesIn(rig).length, 2, 'with the section again, what was ordered goes on');
});

t.test('a folder that cannot be written hinders no call', async (t) => {
  const rig = await startRig(t, {
    config: (demo) => defaultConfig(demo, `  capsules: { directory: "${join(keys.folder, 'c')}" }\n`),
  });
  await managed(rig, 'POST /capsules', { session_id: 's' });
  rmSync(join(keys.folder, 'c'), { recursive: true });
  writeFileSync(join(keys.folder, 'c'), 'a file');
  t.equal((await chat(rig, 'demo', {}, { 'x-litellm-session-id': 's' })).status, 200);
  await written(rig);
  await rig.logged((line) => line['msg'] === 'a capsule cannot be written');
  t.match(await managed(rig, 'GET /capsules'), { dropped: { write_failed: 1 }, capsules: [] });
  t.match(await manage(rig, 'POST /capsules', { session_id: 's' }), {
    status: 503,
    json: { error: { code: 'capsules_unwritable' } },
  });
});

t.test('the folder is bounded: the oldest go', async (t) => {
  const rig = await startRig(t, {
    config: (demo) => defaultConfig(demo, capsulesOf(', max_bytes: 65536, max_capsule_bytes: 40000')),
  });
  await managed(rig, 'POST /capsules', { session_id: 's', bodies: true });
  for (let i = 0; i < 4; i += 1) {
    const content = `${i}${'x'.repeat(12_000)}`;
    await chat(rig, 'demo', { messages: [{ role: 'user', content }] }, { 'x-litellm-session-id': 's' });
    await written(rig);
  }
  const sizes = filesIn(rig).map((name) => statSync(join(folderOf(rig), name)).size);
  t.ok(sizes.length > 0 && sizes.length < 4);
  t.ok(sizes.reduce((sum, size) => sum + size, 0) <= 65_536);
});

t.test('the public key is checked when the file is loaded', async (t) => {
  const pem = createPublicKey(readFileSync(keys.privateKey))
    .export({ format: 'pem', type: 'spki' })
    .toString();
  const bad = (settings: string) =>
    startRig(t, { config: (demo) => defaultConfig(demo, `  capsules: ${settings}\n`) });
  await t.rejects(bad('{ keep_bodies: true }'));
  await t.rejects(bad('{ public_key: abc }'));
  await t.rejects(bad(`{ public_key: ${JSON.stringify(readFileSync(keys.privateKey, 'utf8'))} }`));
  await bad(`{ keep_bodies: true, public_key: ${JSON.stringify(pem)} }`);
});
