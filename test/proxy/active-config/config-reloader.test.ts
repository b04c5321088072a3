// Changes of the configuration in service without a server: files, models of the API, and models that other servers store.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { loadConfig, type RuntimeModel } from '../../../config/load.ts';
import { ConfigReloader } from '../../../proxy/active-config/config-reloader.ts';
import type { Services } from '../../../proxy/active-config/active-config.ts';
import { servicesOf } from '../../support/services.ts';
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
