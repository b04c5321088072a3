// Changes of the configuration in service without a server: files, models of the API, and models that other servers store.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { loadConfig, type RuntimeModel } from '../../../config/load.ts';
import { ConfigReloader } from '../../../proxy/active-config/config-reloader.ts';
import type { Services } from '../../../proxy/active-config/services.ts';
import { Secret } from '../../../config/secret.ts';
import { openLedger } from '../../../proxy/spend/ledger.ts';
import { systemClock } from '../../../proxy/base/clock.ts';
import { readProxySettings } from '../../../proxy/upstream/http-proxies.ts';
import { Pools } from '../../../proxy/upstream/pools.ts';
import { PATIENCE_MS } from '../../support/patience.ts';
import { servicesOf, snapshotOf } from '../../support/services.ts';
import { tempDir } from '../spend/store/fixture/temp-dir.ts';

const KEPT = 'model_list: []\ngeneral_settings: { store_model_in_db: true }\n';

interface Made {
  readonly reloader: ConfigReloader;
  readonly services: Services;
  write(text: string): void;
}

async function made(t: Test, text = KEPT, services?: Services): Promise<Made> {
  const path = join(tempDir(t), 'gateway.yaml');
  writeFileSync(path, text);
  const loaded = loadConfig(path, {});
  if (!loaded.ok) throw new Error('the configuration of the test is refused');
  const used = services ?? (await servicesOf(t));
  const reloader = new ConfigReloader({
    path,
    env: {},
    services: used,
    loaded,
    runtime: [],
    isExposed: false,
    state: null,
  });
  return { reloader, services: used, write: (next) => writeFileSync(path, next) };
}

const model = (id: string, params: object = {}): RuntimeModel => ({
  id,
  entry: {
    model_name: id,
    litellm_params: { model: 'litellm_proxy/demo', api_base: 'http://127.0.0.1:9', api_key: 'k', ...params },
    model_info: { id },
  },
});
const ids = ({ reloader }: Made): string[] => [...reloader.active.deployments.keys()];
const BROKEN = model('of-a-later-version', { no_such_key: 1 });

t.test(
  'a stored model that another server has deleted goes, though what came between is refused',
  async (t) => {
    const one = await made(t);
    t.equal(await one.reloader.takeStored(() => Promise.resolve([model('first')])), 'served');
    t.same(ids(one), ['first']);
    t.equal(await one.reloader.takeStored(() => Promise.resolve([BROKEN])), 'refused');
    t.same(ids(one), ['first'], 'what served goes on');
    t.equal(await one.reloader.takeStored(() => Promise.resolve([model('second')])), 'served');
    t.same(ids(one), ['second']);
  },
);

t.test('a model that was never stored stays, whatever other servers store', async (t) => {
  const one = await made(t, 'model_list: []\n');
  t.match(await one.reloader.addModel({ ...Object(model('own').entry) }), { ok: true, persisted: false });
  await one.reloader.takeStored(() => Promise.resolve([model('first')]));
  t.same(ids(one).toSorted(), ['first', 'own']);
  await one.reloader.takeStored(() => Promise.resolve([]));
  t.same(ids(one), ['own']);
});

t.test(
  'a model that no route leads to is refused and not stored, and one that cannot be stored holds nothing',
  async (t) => {
    const pools = new Pools(systemClock.mono, readProxySettings({ HTTPS_PROXY: 'socks5://127.0.0.1:1' }));
    t.teardown(() => pools.destroy());
    const ledger = await openLedger({
      dataDir: tempDir(t),
      settings: snapshotOf(t, KEPT).journal,
      saltKey: new Secret('a salt'),
      clock: systemClock,
    });
    t.teardown(() => ledger.close(PATIENCE_MS));
    const services = { ...(await servicesOf(t)), pools, ledger };
    const one = await made(t, KEPT, services);
    const { models } = services.ledger;
    const secure = model('secure', { api_base: 'https://127.0.0.1:9' });
    const unreachable = {
      ok: false,
      reason: 'invalid',
      issues: [{ file: '<model/new>', path: 'litellm_params.api_base', message: /HTTPS_PROXY must be/ }],
    };
    t.match(await one.reloader.addModel({ ...Object(secure.entry) }), unreachable);
    t.match(one.reloader.preview({ ...Object(secure.entry) }), unreachable);
    t.same(await models.listModels(), []);
    t.match(await one.reloader.addModel({ ...Object(model('first').entry) }), { ok: true, persisted: true });
    t.match(await models.listModels(), [{ id: 'first' }]);
    t.equal(pools.size, 1);
    await services.ledger.close(PATIENCE_MS);
    const other = model('second', { api_base: 'http://127.0.0.1:7' });
    await t.rejects(one.reloader.addModel({ ...Object(other.entry) }));
    t.same(ids(one), ['first']);
    t.equal(pools.size, 1);
    t.same(services.health.all, ['first']);
  },
);

t.test(
  'a configuration whose upstream has no route in this environment is refused, and told once',
  async (t) => {
    const pools = new Pools(systemClock.mono, readProxySettings({ HTTPS_PROXY: 'socks5://127.0.0.1:1' }));
    t.teardown(() => pools.destroy());
    const services = { ...(await servicesOf(t)), pools };
    const told: string[] = [];
    const { log } = services;
    const noting = Object.create(log, {
      error: { value: ({ issue, why }: { issue?: string; why?: string }) => told.push(issue ?? why ?? '') },
    }) as typeof log;
    const one = await made(t, KEPT, { ...services, log: noting });
    const secure = model('secure', { api_base: 'https://127.0.0.1:9' });
    one.write(`model_list: [${JSON.stringify(secure.entry)}]\n`);
    t.match(one.reloader.dryRun(), { result: 'refused', issues: [{ message: /HTTPS_PROXY must be/ }] });
    const { state } = await one.reloader.reload();
    t.match(state, {
      result: 'refused',
      issues: [{ severity: 'error', message: /^https:\/\/127\.0\.0\.1:9 / }],
    });
    t.match(told, [/HTTPS_PROXY must be the URL of an HTTP proxy.* restart the proxy/]);
    t.equal(await one.reloader.takeStored(() => Promise.resolve([secure])), 'refused');
    t.match(told, { length: 2, 1: /HTTPS_PROXY/ });
    t.same([ids(one), pools.size], [[], 0], 'what served goes on');
    one.write(
      'model_list: [{ model_name: m, litellm_params: { model: litellm_proxy/demo, mock_response: hi, api_base: "https://127.0.0.1:9" } }]\n',
    );
    t.match(
      await one.reloader.reload(),
      { state: { result: 'applied' } },
      'one that sends nothing needs no route',
    );
  },
);

t.test(
  'what another worker has changed follows its files, also where it has added a model as well',
  async (t) => {
    const [reads, adopts] = [await made(t), await made(t)];
    const told: string[] = [];
    adopts.reloader.follow((changed) => void told.push(changed));
    reads.write(`${KEPT}  # another text\n`);
    await reads.reloader.reload();
    await reads.reloader.takeStored(() => Promise.resolve([model('first')]));
    adopts.reloader.adopt(reads.reloader.shared);
    t.same([ids(adopts), told], [['first'], ['files', 'files']]);
    await reads.reloader.takeStored(() => Promise.resolve([]));
    adopts.reloader.adopt(reads.reloader.shared);
    t.same([ids(adopts), told.at(-1)], [[], 'models']);
  },
);
