// `throughline models` as an operator runs it.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { startUpstream } from '../../support/call.ts';
import { runWithin } from '../../support/cli.ts';

const gateway = await startUpstream(t, ({ req, res }) => {
  if (req.url?.startsWith('/down') === true) return void res.writeHead(401).end();
  return void res.end(JSON.stringify({ data: [{ id: 'claude-sonnet' }, { id: 'gpt-a' }] }));
});
const folder = t.testdir();
writeFileSync(
  join(folder, 'gateway.yaml'),
  `model_list:
  - model_name: sonnet
    litellm_params: { model: litellm_proxy/claude-sonnet, api_base: "${gateway}", api_key: k, discover_models: true }
  - model_name: ghost
    litellm_params: { model: litellm_proxy/claude-sonet, api_base: "${gateway}", api_key: k, discover_models: true }
  - model_name: "any/*"
    litellm_params: { model: "litellm_proxy/gpt-*", api_base: "${gateway}", api_key: k, discover_models: true }
  - model_name: plain
    litellm_params: { model: litellm_proxy/x, api_base: "${gateway}", api_key: k }
  - model_name: far
    litellm_params: { model: litellm_proxy/x, api_base: "${gateway}/down", api_key: k, discover_models: true }
router_settings: { model_group_alias: { nick: sonnet } }
`,
);
const run = (...args: string[]): ReturnType<typeof runWithin> =>
  runWithin(['models', ...args, '--config', 'gateway.yaml'], { cwd: folder });

t.test('every name with where it comes from, and what is left out with why', async (t) => {
  const { code, out } = await run();
  t.equal(code, 0);
  for (const line of [
    /^sonnet +claude-sonnet at http\S+, gateway\.yaml:2; listed there$/m,
    /^any\/a +gpt-a of http\S+, by the pattern any\/\*, gateway\.yaml:6$/m,
    /^plain +x at http\S+, gateway\.yaml:8$/m,
    /^far +x at http\S+, gateway\.yaml:10; not asked yet \(GET \S+ models answered 401\)$/m,
    /^nick +model_group_alias of sonnet$/m,
    /^left out of the list, though they can be called\nghost +http\S+ lists 2 models, not claude-sonet, gateway\.yaml:4; did you mean claude-sonnet\?$/m,
    /^http\S+\/down: GET \S+ models answered 401$/m,
  ])
    t.match(out, line);
});

t.test('one name', async (t) => {
  t.match(await run('any/a'), { code: 0, out: /^any\/a: gpt-a of / });
  t.match(await run('ghost'), { code: 1, out: /^ghost is left out: .*did you mean claude-sonnet\?/ });
  t.match(await run('any/zzz'), {
    code: 1,
    out: /^any\/zzz is not listed: a pattern serves it, but the list of its gateway/,
  });
  t.match(await run('sonnnet'), { code: 1, out: /^sonnnet is not listed: .*did you mean sonnet\?/ });
});

t.test('nobody is asked offline; programs get JSON', async (t) => {
  const { out } = await run('--offline', '--json');
  const said = JSON.parse(out) as {
    models: { name: string; from: string }[];
    gateways: { models: unknown }[];
  };
  t.strictSame(
    said.models.map(({ name }) => name),
    ['sonnet', 'ghost', 'any/*', 'plain', 'far', 'nick'],
  );
  t.ok(said.gateways.every(({ models }) => models === null));
});
