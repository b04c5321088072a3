import t from 'tap';
import type { Test } from 'tap';
import { Fault } from '../../../proxy/errors/fault.ts';
import type { ActiveConfig } from '../../../proxy/active-config/active-config.ts';
import { findGroup, groupOf, isServed, servedGroup } from '../../../proxy/pipeline/select-deployment.ts';
import { firstOf, servicesOf, liveOf } from '../../support/services.ts';

const P = 'api_base: "http://127.0.0.1:1", api_key: k';
const C = 'api_base: "http://127.0.0.1:1/v1", api_key: k';

const live = async (t: Test, deployments: readonly string[]): Promise<ActiveConfig> =>
  liveOf(
    t,
    `model_list:\n${deployments.map((deployment) => `  - ${deployment}\n`).join('')}`,
    await servicesOf(t),
  );

const deployment = (name: string, model: string, rest: string): string =>
  `{ model_name: "${name}", litellm_params: { model: "${model}", ${rest} } }`;

/** Upstream name and the pattern that led there. */
const way = (on: ActiveConfig, model: string): string => {
  const { deployment, upstreamModel } = firstOf(on, model);
  return `${deployment.config.group} -> ${upstreamModel}`;
};

const faultOf = (act: () => unknown): Fault => {
  try {
    act();
  } catch (thrown) {
    if (thrown instanceof Fault) return thrown;
  }
  throw new Error('no fault');
};

t.test('exact names win over patterns, long patterns over short ones', async (t) => {
  const on = await live(t, [
    deployment('*', 'litellm_proxy/*', P),
    deployment('anthropic/*', 'litellm_proxy/claude/*', P),
    deployment('anthropic/claude-*', 'openai/c/*', C),
    deployment('anthropic/claude-x', 'litellm_proxy/exact', P),
  ]);
  t.equal(way(on, 'anthropic/claude-x'), 'anthropic/claude-x -> exact');
  t.equal(way(on, 'anthropic/claude-y'), 'anthropic/claude-* -> c/y');
  t.equal(way(on, 'anthropic/other'), 'anthropic/* -> claude/other');
  t.equal(way(on, 'anything/at/all'), '* -> anything/at/all');
  t.equal(way(on, 'anthropic/'), 'anthropic/* -> claude/');
});

t.test('stars are filled one by one; too few of them pass the name on, none makes it constant', async (t) => {
  const on = await live(t, [
    deployment('a-*-b-*', 'litellm_proxy/*/x/*', P),
    deployment('c-*-d-*', 'litellm_proxy/one/*', P),
    deployment('e-*', 'litellm_proxy/constant', P),
    deployment('f.*', 'litellm_proxy/$1/*', P),
  ]);
  t.equal(way(on, 'a-1-b-2'), 'a-*-b-* -> 1/x/2');
  t.equal(way(on, 'c-1-d-2'), 'c-*-d-* -> c-1-d-2');
  t.equal(way(on, 'e-1'), 'e-* -> constant');
  t.equal(way(on, 'f.$&'), 'f.* -> $1/$&', 'a dollar is a dollar');
  t.throws(() => firstOf(on, 'fx1'), Fault, 'a dot is a dot');
  t.throws(() => firstOf(on, 'xa-1-b-2'), Fault, 'patterns are anchored');
});

t.test('no name climbs out of the place that a gateway keeps for models', async (t) => {
  const on = await live(t, [
    deployment('gemini/*', 'gemini/*', 'api_key: k'),
    deployment('az-*', 'azure/*', 'api_base: "http://127.0.0.1:1", api_key: k, api_version: "2024-10-21"'),
    deployment('all/*', 'litellm_proxy/*', P),
  ]);
  for (const name of ['gemini/../../v1/files', 'gemini/a/../b', 'az-..', 'az-../../x', 'all/a/..'])
    t.match(
      faultOf(() => firstOf(on, name)),
      { code: 'model_not_found', status: 404 },
      name,
    );
  for (const name of ['gemini/a..b', 'az-gpt-4..1', 'all/...', 'all/.hidden'])
    t.match(way(on, name), / -> /, name);
});

t.test('a bare name under a bare star to a compat-type gateway is refused with the mend', async (t) => {
  const on = await live(t, [deployment('*', 'openai/*', C)]);
  const fault = faultOf(() => firstOf(on, 'gpt-4o'));
  t.match(fault, { code: 'provider_required', status: 400, param: 'model' });
  t.match(fault.message, /ask for `<provider>\/gpt-4o`\.$/);
  t.equal(way(on, 'openai/gpt-4o'), '* -> openai/gpt-4o');
  const proxied = await live(t, [deployment('*', 'litellm_proxy/*', P)]);
  t.equal(way(proxied, 'gpt-4o'), '* -> gpt-4o', 'a proxy-type gateway knows bare names');
});

t.test(
  'a name that is not served is a value that says why; only a call is refused with a fault',
  async (t) => {
    const on = await live(t, [deployment('*', 'openai/*', C), deployment('exact', 'openai/a', C)]);
    t.equal(findGroup(on, 'gpt-4o'), 'bare name');
    const other = await live(t, [deployment('exact', 'openai/a', C)]);
    t.equal(findGroup(other, 'gpt-4o'), 'unknown');
    for (const active of [on, other]) {
      t.equal(servedGroup(active, 'gpt-4o'), null);
      t.notOk(isServed(active, 'gpt-4o'));
      t.match(findGroup(active, 'exact'), { name: 'exact' });
      t.equal(servedGroup(active, 'exact')?.name, 'exact');
      t.ok(isServed(active, 'exact'));
    }
  },
);

t.test('OpenAI itself takes bare names, as `*` -> `openai/*` has them', async (t) => {
  for (const rest of ['api_key: k', 'api_base: "https://api.openai.com/v1", api_key: k']) {
    const on = await live(t, [deployment('*', 'openai/*', rest)]);
    t.equal(way(on, 'gpt-4o'), '* -> gpt-4o');
  }
});

t.test('an unknown name is told the nearest ones, and never at length', async (t) => {
  const on = await live(t, [
    deployment('smart', 'litellm_proxy/a', P),
    deployment('fast', 'litellm_proxy/b', P),
  ]);
  const fault = faultOf(() => firstOf(on, 'smrt'));
  t.match(fault, { code: 'model_not_found', status: 404, param: 'model' });
  t.equal(
    fault.message,
    'The model `smrt` does not exist on this proxy. Did you mean `smart`? GET /v1/models lists the names.',
  );
  t.ok(faultOf(() => firstOf(on, 'x'.repeat(512))).message.length < 250);
  for (const odd of ['__proto__', 'constructor', 'toString', ''])
    t.equal(faultOf(() => firstOf(on, odd)).code, 'model_not_found');
});

t.test(
  'a further name leads where its model leads, patterns included; a model_name of its own wins',
  async (t) => {
    const aliases =
      'router_settings: { model_group_alias: { old: m, older: { model: w-9, hidden: true }, m: w-1 } }';
    const deployments = [deployment('m', 'litellm_proxy/a', P), deployment('w-*', 'litellm_proxy/w/*', P)];
    const yaml = `model_list:\n${deployments.map((one) => `  - ${one}\n`).join('')}${aliases}\n`;
    const on = liveOf(t, yaml, await servicesOf(t));
    t.equal(way(on, 'old'), 'm -> a');
    t.equal(way(on, 'older'), 'w-* -> w/9');
    t.equal(way(on, 'm'), 'm -> a');
    t.equal(groupOf(on, 'older').name, 'w-9');
  },
);

t.test('under a bare star a bare name goes to the entries that know bare names', async (t) => {
  const on = await live(t, [deployment('*', 'openai/*', C), deployment('*', 'litellm_proxy/*', P)]);
  t.same(
    groupOf(on, 'gpt-4o').deployments.map(({ config }) => config.kind),
    ['proxy'],
  );
  t.equal(groupOf(on, 'openai/gpt-4o').deployments.length, 2);
});
