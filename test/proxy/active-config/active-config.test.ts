// What a configuration takes of the services, and gives back.
import t from 'tap';
import { ActiveConfig } from '../../../proxy/active-config/active-config.ts';
import { systemClock } from '../../../proxy/base/clock.ts';
import { readProxySettings } from '../../../proxy/upstream/http-proxies.ts';
import { Pools } from '../../../proxy/upstream/pools.ts';
import { servicesOf, snapshotOf } from '../../support/services.ts';

const entry = (name: string, base: string): string => `
  - model_name: ${name}
    litellm_params: { model: litellm_proxy/demo, api_base: "${base}", api_key: k }
    model_info: { id: ${name} }`;

t.test('a configuration that cannot be prepared leaves nothing behind, and changes no metric', async (t) => {
  const pools = new Pools(systemClock.mono, readProxySettings({ HTTPS_PROXY: 'socks5://127.0.0.1:1' }));
  t.teardown(() => pools.destroy());
  const services = { ...(await servicesOf(t)), pools };
  const before = await services.metrics.scrape();
  const snapshot = snapshotOf(
    t,
    `model_list: ${entry('plain', 'http://127.0.0.1:9')}${entry('secure', 'https://gateway.test')}
general_settings: { dialect_metrics: true }\n`,
  );
  t.throws(() => new ActiveConfig(snapshot, services), { name: 'CannotStart', message: /HTTPS_PROXY/ });
  t.equal(pools.size, 0);
  t.same(services.health.all, []);
  const names = (text: string): string[] => text.match(/^# TYPE \S+|^\S+\{[^}]*gateway="[^"]*"/gm) ?? [];
  t.same(names(await services.metrics.scrape()), names(before));
});

t.test('pools and health are given back when the last request has ended', async (t) => {
  const services = await servicesOf(t);
  const snapshot = snapshotOf(t, `model_list: ${entry('plain', 'http://127.0.0.1:9')}\n`);
  const active = new ActiveConfig(snapshot, services);
  active.enter();
  active.retire();
  t.equal(services.pools.size, 1);
  t.same(services.health.all, ['plain']);
  active.leave();
  t.equal(services.pools.size, 0);
  t.same(services.health.all, []);
});
