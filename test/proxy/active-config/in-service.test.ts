// One configuration after another, and who follows them.
import t from 'tap';
import { ActiveConfig } from '../../../proxy/active-config/active-config.ts';
import { InService, type Changed } from '../../../proxy/active-config/in-service.ts';
import { servicesOf, snapshotOf } from '../../support/services.ts';

const config = (port: number): string => `
model_list:
  - model_name: demo
    litellm_params: { model: litellm_proxy/demo, api_base: "http://127.0.0.1:${port}", api_key: k }
`;

t.test('who follows is told at once and of each change, when it serves', async (t) => {
  const services = await servicesOf(t);
  const first = new ActiveConfig(snapshotOf(t, config(7)), services);
  const next = new ActiveConfig(snapshotOf(t, config(9)), services);
  const inService = new InService(first);
  const told: [Changed, ActiveConfig][] = [];
  inService.follow((changed) => void told.push([changed, inService.active]));
  inService.put(next, 'models');
  t.same(
    told.map(([changed, active]) => [changed, active === first ? 'first' : 'next']),
    [
      ['files', 'first'],
      ['models', 'next'],
    ],
  );
  t.equal(services.pools.size, 1, 'those of the first are given back');
  t.match(await services.metrics.scrape(), `throughline_config_info{version="${next.snapshot.version}"} 1`);
});

t.test('one that fails to follow keeps no pool of the old configuration open', async (t) => {
  const services = await servicesOf(t);
  const inService = new InService(new ActiveConfig(snapshotOf(t, config(7)), services));
  inService.follow((changed) => {
    if (changed === 'models') throw new Error('a mistake');
  });
  const next = new ActiveConfig(snapshotOf(t, config(9)), services);
  t.throws(() => inService.put(next, 'models'), /a mistake/);
  t.equal(inService.active, next);
  t.equal(services.pools.size, 1);
});
