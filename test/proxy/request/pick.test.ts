import t from 'tap';
import type { Test } from 'tap';
import { Fault } from '../../../proxy/errors/fault.ts';
import type { Live } from '../../../proxy/live.ts';
import { pick, share } from '../../../proxy/request/pick.ts';
import { houseOf, liveOf } from '../../support/house.ts';

const P = 'api_base: "http://127.0.0.1:1", api_key: k';
const C = 'api_base: "http://127.0.0.1:1/v1", api_key: k';

const live = async (t: Test, entries: readonly string[], random?: () => number): Promise<Live> =>
  liveOf(t, `model_list:\n${entries.map((entry) => `  - ${entry}\n`).join('')}`, await houseOf(t, random));

const entry = (name: string, model: string, rest: string, more = ''): string =>
  `{ model_name: "${name}", litellm_params: { model: "${model}", ${rest}${more} } }`;

/** Upstream name and the pattern that led there. */
const way = (on: Live, model: string): string => {
  const { target, upstreamModel } = pick(on, model);
  return `${target.route.group} -> ${upstreamModel}`;
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
    entry('*', 'litellm_proxy/*', P),
    entry('anthropic/*', 'litellm_proxy/claude/*', P),
    entry('anthropic/claude-*', 'openai/c/*', C),
    entry('anthropic/claude-x', 'litellm_proxy/exact', P),
  ]);
  t.equal(way(on, 'anthropic/claude-x'), 'anthropic/claude-x -> exact');
  t.equal(way(on, 'anthropic/claude-y'), 'anthropic/claude-* -> c/y');
  t.equal(way(on, 'anthropic/other'), 'anthropic/* -> claude/other');
  t.equal(way(on, 'anything/at/all'), '* -> anything/at/all');
  t.equal(way(on, 'anthropic/'), 'anthropic/* -> claude/');
});

t.test('stars are filled one by one; too few of them pass the name on, none makes it constant', async (t) => {
  const on = await live(t, [
    entry('a-*-b-*', 'litellm_proxy/*/x/*', P),
    entry('c-*-d-*', 'litellm_proxy/one/*', P),
    entry('e-*', 'litellm_proxy/constant', P),
    entry('f.*', 'litellm_proxy/$1/*', P),
  ]);
  t.equal(way(on, 'a-1-b-2'), 'a-*-b-* -> 1/x/2');
  t.equal(way(on, 'c-1-d-2'), 'c-*-d-* -> c-1-d-2');
  t.equal(way(on, 'e-1'), 'e-* -> constant');
  t.equal(way(on, 'f.$&'), 'f.* -> $1/$&', 'a dollar is a dollar');
  t.throws(() => pick(on, 'fx1'), Fault, 'a dot is a dot');
  t.throws(() => pick(on, 'xa-1-b-2'), Fault, 'patterns are anchored');
});

t.test('a bare name under a bare star to a compat-type gateway is refused with the mend', async (t) => {
  const on = await live(t, [entry('*', 'openai/*', C)]);
  const fault = faultOf(() => pick(on, 'gpt-4o'));
  t.match(fault, { code: 'provider_required', status: 400, param: 'model' });
  t.match(fault.message, /ask for `<provider>\/gpt-4o`\.$/);
  t.equal(way(on, 'openai/gpt-4o'), '* -> openai/gpt-4o');
  const proxied = await live(t, [entry('*', 'litellm_proxy/*', P)]);
  t.equal(way(proxied, 'gpt-4o'), '* -> gpt-4o', 'a proxy-type gateway knows bare names');
});

t.test('an unknown name is told the nearest ones, and never at length', async (t) => {
  const on = await live(t, [entry('smart', 'litellm_proxy/a', P), entry('fast', 'litellm_proxy/b', P)]);
  const fault = faultOf(() => pick(on, 'smrt'));
  t.match(fault, { code: 'model_not_found', status: 404, param: 'model' });
  t.equal(
    fault.message,
    'The model `smrt` does not exist on this proxy. Did you mean `smart`? GET /v1/models lists the names.',
  );
  t.ok(faultOf(() => pick(on, 'x'.repeat(512))).message.length < 250);
  for (const odd of ['__proto__', 'constructor', 'toString', ''])
    t.equal(faultOf(() => pick(on, odd)).code, 'model_not_found');
});

t.test('a group shares its requests out by weight', async (t) => {
  let dice = 0;
  const on = await live(
    t,
    [
      entry('m', 'litellm_proxy/a', P, ', weight: 1'),
      entry('m', 'litellm_proxy/b', P, ', weight: 3'),
      entry('w-*', 'litellm_proxy/c', P),
      entry('w-*', 'litellm_proxy/d', P),
    ],
    () => dice,
  );
  const at = (value: number, model = 'm'): string => {
    dice = value;
    return pick(on, model).upstreamModel;
  };
  t.same(
    [0, 0.2499, 0.25, 0.5, 0.9999].map((value) => at(value)),
    ['a', 'a', 'b', 'b', 'b'],
  );
  t.same(
    [0, 0.4999, 0.5].map((value) => at(value, 'w-1')),
    ['c', 'c', 'd'],
  );
  t.equal(share([...(on.groups.get('m') ?? [])], 1).route.upstreamModel, 'b', 'dice at the very edge');
});
