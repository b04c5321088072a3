// What answers tell of tools that their upstream runs; what only looks like it is not counted.
import t from 'tap';
import { noteToolUses, ToolUses, toolUnitsIn } from '../../../proxy/protocols/tool-uses.ts';

t.test('calls that are over count once, by their id or their place', async (t) => {
  const call = (type: string, more: object = {}): object => ({
    type: `${type}_call`,
    status: 'completed',
    ...more,
  });
  t.same(toolUnitsIn({ output: [call('web_search', { id: 'a' }), call('web_search', { id: 'a' })] }), {
    searches: 1,
  });
  t.same(toolUnitsIn({ output: [call('web_search'), call('web_search')] }), { searches: 2 }, 'without an id');
  for (const status of ['in_progress', 'searching', 'failed', 'incomplete'])
    t.same(
      toolUnitsIn({ output: [call('web_search', { status }), call('file_search', { status })] }),
      {},
      status,
    );
  for (const type of ['open_page', 'find_in_page', 'find'])
    t.same(toolUnitsIn({ output: [call('web_search', { action: { type } })] }), {}, type);
  t.same(toolUnitsIn({ output: [call('web_search', { action: null })] }), { searches: 1 });
  t.same(
    toolUnitsIn({
      output: ['a', 'b', 'b'].map((container_id) => call('code_interpreter', { container_id })),
    }),
    { containers: 2 },
  );
  t.same(toolUnitsIn({ output: [call('code_interpreter', { status: 'failed' })] }), { containers: 1 });
});

t.test('results of searches count in the blocks of messages, errors do not', async (t) => {
  const uses = new ToolUses();
  const block = (type: string, tool_use_id: string, content: unknown): void =>
    noteToolUses({ content_block: { type, tool_use_id, content } }, uses);
  block('web_search_tool_result', 'a', []);
  block('web_search_tool_result', 'a', []);
  block('web_search_tool_result', 'b', { type: 'web_search_tool_result_error', error_code: 'unavailable' });
  block('web_fetch_tool_result', 'c', []);
  t.same(uses.units, { searches: 1 });
});

t.test('a compaction returns calls of before', async (t) => {
  const output = [
    { type: 'web_search_call', id: 'a', status: 'completed' },
    { type: 'compaction', id: 'b' },
  ];
  t.same(toolUnitsIn({ object: 'response.compaction', output }), {});
  t.same(toolUnitsIn({ object: 'response', output }), { searches: 1 });
});

t.test('a count that the upstream states stands, unless it is none', async (t) => {
  const output = [{ type: 'web_search_call', id: 'a' }];
  for (const [num_requests, searches] of [
    [3, 3],
    [0, 1],
    [-1, 1],
    ['9', 1],
    [1.5, 1],
    [1e9, 1],
  ] as const)
    t.same(
      toolUnitsIn({ output, tool_usage: { web_search: { num_requests } } }),
      { searches },
      String(num_requests),
    );
});

t.test('events of one stream are told apart by their places', async (t) => {
  const uses = new ToolUses();
  const item = { type: 'web_search_call' };
  for (const output_index of [0, 0, 1]) noteToolUses({ item, output_index }, uses);
  noteToolUses({ output: [item, item] }, uses);
  t.same(uses.units, { searches: 2 });
});

t.test(
  'a list at the end that names calls anew adds none, and one that is short takes none away',
  async (t) => {
    const uses = new ToolUses();
    const item = (id: string): object => ({ type: 'web_search_call', id });
    for (const id of ['a', 'b']) noteToolUses({ item: item(id) }, uses);
    for (const output of [[item('c')], [], [item('c'), item('d')]]) noteToolUses({ output }, uses);
    t.same(uses.units, { searches: 2 });
    noteToolUses({ output: [item('c'), item('d'), item('e')] }, uses);
    t.same(uses.units, { searches: 3 });
  },
);

t.test('grounding counts each query once, and none that is empty', async (t) => {
  const units = (...all: object[]): unknown =>
    toolUnitsIn({ candidates: all.map((groundingMetadata) => ({ groundingMetadata })) });
  t.same(units({ webSearchQueries: ['a', 'b', ''] }, { webSearchQueries: ['a'] }), { searches: 2 });
  t.same(units({ webSearchQueries: ['', 5, null] }), {});
  t.same(units({ webSearchQueries: 'a' }, {}), {});
  t.same(units({ googleMapsWidgetContextToken: 'x' }), { mapSearches: 1 });
  t.same(units({ groundingChunks: [{ maps: {} }], webSearchQueries: ['a', 'b'] }), { mapSearches: 2 });
  t.same(units({ groundingChunks: [{ maps: {} }, { web: {} }], webSearchQueries: ['a', 'b'] }), {
    searches: 2,
    mapSearches: 1,
  });
});

t.test('more uses than any vendor allows are not told apart, and what is no answer has none', async (t) => {
  const output = Array.from({ length: 5_000 }, () => ({ type: 'file_search_call' }));
  t.same(toolUnitsIn({ output }), { fileSearches: 1_000 });
  for (const wrong of [null, 'x', 5, [null], ['x'], [{}], [[]], {}])
    t.same(
      toolUnitsIn({ output: wrong, candidates: wrong, choices: wrong, item: wrong, tool_usage: wrong }),
      {},
    );
});
