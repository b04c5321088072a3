// The legacy settings over the wire: every member, null, default and merge rule, and that no secret comes back.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { at, startPlatform } from '../fixture/rig.ts';

const PATH = '/api/settings';

t.test('a user without settings gets 404, one who stored an empty object gets every default', async (t) => {
  const rig = await startPlatform(t);
  const none = await rig.api('GET', PATH);
  t.equal(none.status, 404);
  t.same(none.json, { error: 'Settings not found' });
  const stored = await rig.api('POST', PATH, {});
  t.equal(stored.status, 200);
  t.same(stored.json, { message: 'Settings stored' });
  const { json } = await rig.api('GET', PATH);
  t.same(json, {
    language: null,
    agent: null,
    max_iterations: null,
    security_analyzer: null,
    confirmation_mode: null,
    llm_model: null,
    llm_api_key: null,
    llm_base_url: null,
    remote_runtime_resource_factor: null,
    secrets_store: { provider_tokens: {} },
    enable_default_condenser: true,
    enable_sound_notifications: false,
    enable_proactive_conversation_starters: true,
    enable_solvability_analysis: true,
    user_consents_to_analytics: null,
    sandbox_base_container_image: null,
    sandbox_runtime_container_image: null,
    mcp_config: null,
    search_api_key: null,
    sandbox_api_key: null,
    max_budget_per_task: null,
    email: null,
    email_verified: null,
    git_user_name: null,
    git_user_email: null,
    provider_tokens_set: null,
    llm_api_key_set: false,
    search_api_key_set: false,
  });
});

t.test('a null keeps what must be kept and overwrites the rest', async (t) => {
  const rig = await startPlatform(t);
  const first = {
    llm_model: 'model-a',
    llm_api_key: 'sk-llm-secret',
    llm_base_url: 'http://a/v1',
    search_api_key: 'sk-search-secret',
    user_consents_to_analytics: true,
    language: 'de',
    max_iterations: 30,
    max_budget_per_task: 1.5,
    enable_default_condenser: false,
    secrets_store: { provider_tokens: { github: 'ghp-secret' }, custom_secrets: { A: 'b-secret' } },
  };
  await rig.api('POST', PATH, first);
  const before = await rig.api('GET', PATH);
  t.match(before.json, {
    llm_api_key_set: true,
    search_api_key_set: true,
    provider_tokens_set: { github: null },
  });
  await rig.api('POST', PATH, { llm_model: null, language: null });
  const { json, text } = await rig.api('GET', PATH);
  t.match(json, {
    llm_model: 'model-a',
    llm_base_url: 'http://a/v1',
    llm_api_key: null,
    llm_api_key_set: true,
    search_api_key_set: true,
    user_consents_to_analytics: true,
    language: null,
    max_iterations: null,
    max_budget_per_task: null,
    enable_default_condenser: true,
    provider_tokens_set: { github: null },
  });
  t.notMatch(text, /secret"|sk-|ghp-/, 'no secret is answered');
  await rig.api('POST', PATH, { llm_api_key: '' });
  t.equal(
    at(await rig.api('GET', PATH), 'llm_api_key_set'),
    false,
    'an empty key replaces the old one and is none',
  );
});

t.test('MCP secrets are masked, and a mask that comes back keeps what is stored', async (t) => {
  const rig = await startPlatform(t);
  const mcp = {
    sse_servers: [{ url: 'https://mcp.example.com/sse', api_key: 'mcp-secret' }],
    stdio_servers: [
      { name: 'files', command: 'uvx', args: ['mcp-files'], env: { TOKEN: 'env-secret', EMPTY: '' } },
    ],
    shttp_servers: [{ url: 'wss://mcp.example.com' }],
  };
  await rig.api('POST', PATH, { mcp_config: mcp });
  const seen = await rig.api('GET', PATH);
  t.match(seen.json, {
    mcp_config: {
      sse_servers: [{ api_key: null }],
      stdio_servers: [{ name: 'files', args: ['mcp-files'], env: { TOKEN: '**********', EMPTY: '' } }],
    },
  });
  t.notMatch(seen.text, /-secret/);
  await rig.api('POST', PATH, { mcp_config: at(seen, 'mcp_config') });
  t.same(at(await rig.api('GET', PATH), 'mcp_config.stdio_servers.0.env'), {
    TOKEN: '**********',
    EMPTY: '',
  });
});

t.test(
  'what does not fit is 422 in the shape of the original framework, and nothing is stored',
  async (t) => {
    const rig = await startPlatform(t);
    const cases: readonly (readonly [body: unknown, loc: readonly unknown[], type: string, msg: RegExp])[] = [
      [{ language: 5 }, ['body', 'language'], 'string_type', /valid string/],
      [{ max_iterations: 1.5 }, ['body', 'max_iterations'], 'int_type', /valid integer/],
      [{ max_budget_per_task: '1' }, ['body', 'max_budget_per_task'], 'float_type', /valid number/],
      [
        { enable_sound_notifications: null },
        ['body', 'enable_sound_notifications'],
        'bool_type',
        /valid boolean/,
      ],
      [{ mcp_config: [] }, ['body', 'mcp_config'], 'dict_type', /valid dictionary/],
      [
        { mcp_config: { servers: [] } },
        ['body', 'mcp_config', 'servers'],
        'extra_forbidden',
        /not permitted/,
      ],
      [
        { mcp_config: { sse_servers: [{}] } },
        ['body', 'mcp_config', 'sse_servers', 0, 'url'],
        'missing',
        /required/,
      ],
      [
        { mcp_config: { sse_servers: [{ url: '' }] } },
        ['body', 'mcp_config', 'sse_servers', 0, 'url'],
        'value_error',
        /URL cannot be empty/,
      ],
      [
        { mcp_config: { sse_servers: [{ url: 'a.b' }] } },
        ['body', 'mcp_config', 'sse_servers', 0, 'url'],
        'value_error',
        /include a scheme/,
      ],
      [
        { mcp_config: { sse_servers: [{ url: 'ftp://a' }] } },
        ['body', 'mcp_config', 'sse_servers', 0, 'url'],
        'value_error',
        /http, https, ws, or wss/,
      ],
      [
        { mcp_config: { shttp_servers: [{ url: 'http://' }] } },
        ['body', 'mcp_config', 'shttp_servers', 0, 'url'],
        'value_error',
        /valid domain/,
      ],
      [
        { mcp_config: { stdio_servers: [{ name: 'a b', command: 'c' }] } },
        ['body', 'mcp_config', 'stdio_servers', 0, 'name'],
        'value_error',
        /letters, numbers/,
      ],
      [
        { mcp_config: { stdio_servers: [{ name: 'a', command: 'c d' }] } },
        ['body', 'mcp_config', 'stdio_servers', 0, 'command'],
        'value_error',
        /single executable/,
      ],
      [
        { mcp_config: { stdio_servers: [{ name: 'a', command: 'c', args: 'x' }] } },
        ['body', 'mcp_config', 'stdio_servers', 0, 'args'],
        'list_type',
        /valid list/,
      ],
      [[], ['body'], 'dict_type', /valid dictionary/],
      [Buffer.from('{"a":'), ['body', 5], 'json_invalid', /JSON decode error/],
      [Buffer.from([0x7b, 0xff]), ['body', 0], 'json_invalid', /JSON decode error/],
      [Buffer.from(''), ['body'], 'missing', /Field required/],
    ];
    for (const [body, loc, type, msg] of cases) {
      const response = await rig.api('POST', PATH, body);
      t.equal(response.status, 422, JSON.stringify(loc));
      t.match(at(response, 'detail.0'), { loc, type, msg }, response.text);
      t.same(
        Object.keys(at(response, 'detail.0') as object),
        ['loc', 'msg', 'type'],
        'the input is never repeated',
      );
    }
    const both = await rig.api('POST', PATH, { language: 1, email: 2 });
    t.equal((at(both, 'detail') as unknown[]).length, 2, 'all at once');
    t.equal((await rig.api('GET', PATH)).status, 404);
  },
);

t.test('a number beyond all numbers is refused: stored, it would be none', async (t) => {
  const rig = await startPlatform(t);
  for (const path of [PATH, '/api/v1/settings']) {
    const response = await rig.api('POST', path, Buffer.from('{"max_budget_per_task":1e999}'));
    t.equal(response.status, 422, path);
    t.match(response.json, { detail: [{ loc: ['body', 'max_budget_per_task'] }] });
  }
});

t.test('a body that is too large or nested too deeply is refused before it is looked into', async (t) => {
  const rig = await startPlatform(t);
  const large = await rig.api('POST', PATH, { language: 'x'.repeat(1024 * 1024) });
  t.equal(large.status, 413);
  t.match(large.json, { detail: /larger than 1048576 bytes/ });
  const deep = await rig.api(
    'POST',
    '/api/v1/settings',
    Buffer.from(`{"agent_settings_diff":${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}}`),
  );
  t.equal(deep.status, 422);
  t.match(deep.text, /nested deeper than 64/);
});

t.test('V0 tells that it is deprecated and what comes after it, V1 does not', async (t) => {
  const rig = await startPlatform(t);
  const { headers } = await rig.api('POST', PATH, {});
  t.match(headers, { deprecation: '@1775001600', link: '</api/v1/settings>; rel="successor-version"' });
  t.equal((await rig.api('GET', '/api/v1/settings')).headers['deprecation'], undefined);
  const gone = await rig.api('POST', '/api/reset-settings');
  t.equal(gone.status, 410);
  t.same(gone.json, { error: 'Reset settings functionality has been removed.' });
});

t.test('each user has settings of their own, and no secret stands on the disk or in the log', async (t) => {
  const users = '[{ key: key-of-alice, user_id: alice }, { key: key-of-bob, user_id: bob }]';
  const rig = await startPlatform(t, { users });
  const secret = 'sk-this-must-never-be-readable';
  await rig.api('POST', PATH, { llm_model: 'of-alice', llm_api_key: secret }, 'key-of-alice');
  t.equal((await rig.api('GET', PATH, undefined, 'key-of-bob')).status, 404);
  t.match((await rig.api('GET', PATH, undefined, 'key-of-alice')).json, { llm_model: 'of-alice' });
  for (const name of readdirSync(join(rig.folder, 'data'))) {
    if (name.startsWith('platform.db'))
      t.notMatch(readFileSync(join(rig.folder, 'data', name), 'latin1'), secret);
  }
  t.notMatch(JSON.stringify(rig.log), secret);
});

t.test('a store that fails answers 500 in the words of the platform, and changes nothing', async (t) => {
  const rig = await startPlatform(t);
  await rig.api('POST', PATH, { language: 'de' });
  const { DatabaseSync } = await import('node:sqlite');
  const db = new DatabaseSync(join(rig.folder, 'data', 'platform.db'));
  db.exec("CREATE TRIGGER broken BEFORE UPDATE ON items BEGIN SELECT RAISE(ABORT, 'no space'); END");
  const failed = await rig.api('POST', PATH, { language: 'fr' });
  t.equal(failed.status, 500);
  t.same(failed.json, { error: 'Something went wrong storing settings' });
  t.equal(at(await rig.api('GET', PATH), 'language'), 'de');
  db.exec('DROP TRIGGER broken');
  db.close();
  t.equal((await rig.api('POST', PATH, { language: 'fr' })).status, 200, 'and serves on once it is mended');
});
