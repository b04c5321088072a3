// Merge patches of the V1 settings over the wire (RFC 7386), the agent's own schema, and MCP servers in all their forms.
import t from 'tap';
import { at, startPlatform, type Answered, type PlatformRig } from '../fixture/rig.ts';

type Tree = Readonly<Record<string, unknown>>;

const PATH = '/api/v1/settings';

const patch = (rig: PlatformRig, agent: unknown): Promise<Answered> =>
  rig.api('POST', PATH, { agent_settings_diff: agent });
const agentOf = async (rig: PlatformRig): Promise<Tree> =>
  at(await rig.api('GET', PATH), 'agent_settings') as Tree;
const mcpOf = async (rig: PlatformRig): Promise<unknown> => (await agentOf(rig))['mcp_config'];

t.test('objects are merged, null unsets, anything else replaces', async (t) => {
  const rig = await startPlatform(t);
  await patch(rig, {
    llm: { model: 'a', temperature: 0.5, litellm_extra_body: { x: { y: 1, z: 2 } } },
    condenser: { max_size: 80, keep_first: 3 },
    tools: [{ name: 'a' }, { name: 'b' }],
  });
  await patch(rig, {
    llm: { temperature: null, litellm_extra_body: { x: { y: null } }, top_p: null },
    condenser: null,
    tools: [{ name: 'c' }],
    persona: null,
  });
  t.same(await agentOf(rig), {
    llm: { model: 'a', litellm_extra_body: { x: { z: 2 } } },
    tools: [{ name: 'c' }],
  });
  await patch(rig, { llm: { litellm_extra_body: { x: { new: { a: null, b: 1 } } } } });
  t.same(
    ((await agentOf(rig))['llm'] as Tree)['litellm_extra_body'],
    { x: { z: 2, new: { b: 1 } } },
    'a null in a new object stands for nothing, too',
  );
  await rig.api('POST', PATH, { conversation_settings_diff: { max_iterations: 5, confirmation_mode: true } });
  await rig.api('POST', PATH, {
    conversation_settings_diff: { max_iterations: null, security_analyzer: null },
  });
  t.match((await rig.api('GET', PATH)).json, {
    conversation_settings: { max_iterations: 500, confirmation_mode: true, security_analyzer: null },
  });
});

t.test("what does not fit the agent's schema is 422 with its place, and nothing is stored", async (t) => {
  const rig = await startPlatform(t);
  await patch(rig, { llm: { model: 'a' } });
  const before = await agentOf(rig);
  const cases: readonly (readonly [diff: Tree, place: readonly unknown[], type: string])[] = [
    [{ llm: { temperature: 'hot' } }, ['llm', 'temperature'], 'float_type'],
    [{ llm: { temperature: -1 } }, ['llm', 'temperature'], 'greater_than_equal'],
    [{ llm: { num_retries: 1.5 } }, ['llm', 'num_retries'], 'int_type'],
    [{ llm: { temprature: 1 } }, ['llm', 'temprature'], 'extra_forbidden'],
    [{ llm: 'a' }, ['llm'], 'dict_type'],
    [{ llm: { reasoning_effort: 'wild' } }, ['llm', 'reasoning_effort'], 'enum'],
    [{ condenser: { max_size: 5 } }, ['condenser', 'max_size'], 'greater_than_equal'],
    [{ condenser: { condenser_kind: 'no_op', max_size: 80 } }, ['condenser', 'max_size'], 'extra_forbidden'],
    [{ condenser: { condenser_kind: 'magic' } }, ['condenser', 'condenser_kind'], 'enum'],
    [{ tools: ['a'] }, ['tools', 0], 'dict_type'],
    [{ tools: [{}] }, ['tools', 0, 'name'], 'missing'],
    [{ agent_kind: 'robot' }, ['agent_kind'], 'literal_error'],
    [{ verification: { critic_threshold: 2 } }, ['verification', 'critic_threshold'], 'less_than_equal'],
    [{ enable_sub_agents: true }, ['enable_sub_agents'], 'extra_forbidden'],
    [{ mcp_config: { a: { command: 5 } } }, ['mcp_config', 'a', 'command'], 'string_type'],
    [{ mcp_config: { a: { comand: 'x' } } }, ['mcp_config', 'a', 'comand'], 'extra_forbidden'],
    [{ mcp_config: { mcpServers: { a: { command: 5 } } } }, ['mcp_config', 'a', 'command'], 'string_type'],
    [{ mcp_config: { a: 'x' } }, ['mcp_config', 'a'], 'dict_type'],
    [{ mcp_config: 'x' }, ['mcp_config'], 'dict_type'],
    [{ mcp_config: { mcpServers: ['x'] } }, ['mcp_config', 'mcpServers'], 'dict_type'],
    [{ mcp_config: { a: {} } }, ['mcp_config', 'a'], 'value_error'],
    [{ mcp_config: { a: { command: 'x', url: 'https://a' } } }, ['mcp_config', 'a'], 'value_error'],
    [{ mcp_config: { a: { command: 'x', transport: 'sse' } } }, ['mcp_config', 'a'], 'value_error'],
    [{ mcp_config: { a: { url: 'ftp://a' } } }, ['mcp_config', 'a', 'url'], 'value_error'],
    [{ mcp_config: { a: { url: 'wss://a' } } }, ['mcp_config', 'a', 'url'], 'value_error'],
    [
      { mcp_config: { a: { url: 'http://a', transport: 'pigeon' } } },
      ['mcp_config', 'a', 'transport'],
      'enum',
    ],
    [
      { mcp_config: { a: { url: 'http://a', auth: { strategy: 'x' } } } },
      ['mcp_config', 'a', 'auth', 'strategy'],
      'enum',
    ],
    [
      { mcp_config: { a: { url: 'http://a', auth: 'k', headers: { authorization: 'Bearer k' } } } },
      ['mcp_config', 'a'],
      'value_error',
    ],
  ];
  for (const [diff, place, type] of cases) {
    const response = await patch(rig, diff);
    t.equal(response.status, 422, JSON.stringify(diff));
    t.match(
      at(response, 'detail.0'),
      { loc: ['body', 'agent_settings_diff', ...place], type },
      response.text,
    );
    t.equal((at(response, 'detail') as unknown[]).length, 1, response.text);
    t.notMatch(response.text, /hot|robot/, 'the input is never repeated');
  }
  const either = await patch(rig, { agent_context: { secrets: { A: { kind: 'Other' } } } });
  t.match(at(either, 'detail'), [{ type: 'string_type' }, { type: 'enum' }], 'a text, or one of two kinds');
  t.same(await agentOf(rig), before);
  const ref = await rig.api('POST', PATH, { conversation_settings_diff: { worktree_base: 'ref' } });
  t.match(at(ref, 'detail.0'), { loc: ['body', 'conversation_settings_diff', 'worktree_base_ref'] });
  const other = await rig.api('POST', PATH, { conversation_settings_diff: { max_iteration: 1 } });
  t.match(at(other, 'detail.0'), {
    loc: ['body', 'conversation_settings_diff', 'max_iteration'],
    type: 'extra_forbidden',
  });
  t.equal((await patch(rig, { llm: { modify_params: true } })).status, 200, 'older profiles have it');
});

t.test('settings of one kind of agent end with the kind', async (t) => {
  const rig = await startPlatform(t);
  await patch(rig, { llm: { model: 'a' }, tools: [] });
  await patch(rig, { agent_kind: 'llm', tool_concurrency_limit: 2 });
  t.match(
    await agentOf(rig),
    { llm: { model: 'a' }, tool_concurrency_limit: 2 },
    'llm is the old name of openhands',
  );
  await patch(rig, { agent_kind: 'acp', acp_server: 'codex' });
  t.same(await agentOf(rig), { agent_kind: 'acp', acp_server: 'codex' });
  t.equal((await patch(rig, { llm: { model: 'a' } })).status, 422);
});

t.test('MCP servers of all three kinds are set, changed and removed, in each form', async (t) => {
  const rig = await startPlatform(t);
  const files = { command: 'uvx', args: ['mcp-files'], env: { TOKEN: 'env-secret' }, transport: 'stdio' };
  const docs = {
    url: 'https://a.example/mcp',
    transport: 'http',
    auth: { strategy: 'bearer', value: 'bearer-secret' },
  };
  const events = {
    url: 'https://a.example/sse',
    transport: 'sse',
    headers: { 'X-Api-Key': 'header-secret' },
  };
  t.equal((await patch(rig, { mcp_config: { files, docs, events } })).status, 200);
  const seen = await rig.api('GET', PATH);
  t.notMatch(seen.text, /-secret/);
  t.match(at(seen, 'agent_settings.mcp_config'), {
    files: { command: 'uvx', env: { TOKEN: '**********' } },
    docs: { auth: { strategy: 'bearer', value: '**********' } },
    events: { transport: 'sse', headers: { 'X-Api-Key': '**********' } },
  });
  await patch(rig, { mcp_config: at(seen, 'agent_settings.mcp_config') });
  t.same(await mcpOf(rig), at(seen, 'agent_settings.mcp_config'), 'what is read can be written');
  await patch(rig, { mcp_config: { files: { args: ['b'], env: { TOKEN: null, OTHER: 'x' } }, docs: null } });
  t.same(Object.keys((await mcpOf(rig)) as object), ['files', 'events'], 'a null removes one');
  t.match(await mcpOf(rig), {
    files: { command: 'uvx', args: ['b'], env: { OTHER: '**********', TOKEN: undefined } },
  });
  await patch(rig, { mcp_config: {} });
  t.same(Object.keys((await mcpOf(rig)) as object), ['files', 'events'], 'an empty patch changes nothing');
  await patch(rig, {
    mcp_config: { mcpServers: { more: { type: 'shttp', url: 'https://b.example', api_key: 'k' } } },
  });
  t.match(
    await mcpOf(rig),
    {
      mcpServers: {
        files: { command: 'uvx' },
        events: {},
        more: {
          transport: 'http',
          url: 'https://b.example',
          auth: { strategy: 'api_key', value: '**********' },
        },
      },
    },
    'in the form that was written',
  );
  await patch(rig, { mcpServers: { more: null } });
  t.same(Object.keys(((await mcpOf(rig)) as { mcpServers: object }).mcpServers), ['files', 'events']);
  await patch(rig, { mcp_config: { mcpServers: {} } });
  t.same(await mcpOf(rig), { mcpServers: {} }, 'an empty map removes all');
  await patch(rig, { mcp_config: { stdio_servers: [{ name: 'old', command: 'c' }] } });
  t.same(await mcpOf(rig), { old: { transport: 'stdio', command: 'c' } }, "V0's lists are taken, too");
  await patch(rig, { mcp_config: null });
  t.equal(await mcpOf(rig), undefined, 'and a null');
  await patch(rig, { mcp_config: { a: { command: 'c' } } });
  await patch(rig, { mcp_config: { mcpServers: null } });
  t.same(await mcpOf(rig), { mcpServers: {} });
});

t.test("the forms of the settings are the SDK's", async (t) => {
  const rig = await startPlatform(t);
  const agent = await rig.api('GET', `${PATH}/agent-schema`);
  t.same(Object.keys(agent.json as object), ['model_name', 'sections']);
  t.equal(at(agent, 'model_name'), 'AgentSettings');
  const sections = at(agent, 'sections') as { key: string; variant: string | null; fields: Tree[] }[];
  t.same(
    sections.map(({ key }) => key),
    ['general', 'llm', 'agent_context', 'condenser', 'verification', 'acp'],
  );
  const model = sections[1]?.fields.find(({ key }) => key === 'llm.model');
  t.match(model, {
    section: 'llm',
    value_type: 'string',
    prominence: 'critical',
    secret: false,
    variant: 'openhands',
  });
  const conversation = await rig.api('GET', `${PATH}/conversation-schema`);
  t.equal(at(conversation, 'model_name'), 'ConversationSettings');
  t.match(conversation.text, /"key":"confirmation_mode"/);
});
