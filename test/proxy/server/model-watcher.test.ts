// Looks one after another at a store that other servers write to.
import { setImmediate as turn } from 'node:timers/promises';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { mock } from 'node:test';
import t from 'tap';
import { loadConfig, type RuntimeModel } from '../../../config/load.ts';
import { ConfigReloader } from '../../../proxy/active-config/config-reloader.ts';
import { ModelWatcher } from '../../../proxy/server/model-watcher.ts';
import type { ModelStore, StoredModel } from '../../../proxy/spend/store/store.ts';
import { servicesOf } from '../../support/services.ts';
import { tempDir } from '../spend/store/fixture/temp-dir.ts';

/** A database that is shared, without the database. */
class SharedModels implements ModelStore {
  looks = 0;
  lists = 0;
  #mark = 0;
  #models: readonly StoredModel[] = [];

  /** Another server has stored these. */
  store(...models: readonly StoredModel[]): void {
    this.#models = models;
    this.#mark += 1;
  }

  listModels(): Promise<readonly StoredModel[]> {
    this.lists += 1;
    return Promise.resolve(this.#models);
  }

  modelsMark(): Promise<string> {
    this.looks += 1;
    return Promise.resolve(String(this.#mark));
  }

  putModel(): Promise<void> {
    return Promise.resolve();
  }

  deleteModel(): Promise<boolean> {
    return Promise.resolve(false);
  }
}

const model = (id: string, name: string): StoredModel & RuntimeModel => ({
  id,
  entry: {
    model_name: id,
    litellm_params: { model: name, api_base: 'http://127.0.0.1:9', api_key: 'k' },
    model_info: { id },
  },
});

t.test(
  'models that are refused are read again when they or the configuration change, not at each look',
  async (t) => {
    mock.timers.enable({ apis: ['setTimeout'] });
    t.teardown(() => mock.timers.reset());
    const path = join(tempDir(t), 'gateway.yaml');
    const text = (more = ''): string =>
      `model_list: []\ngeneral_settings: { store_model_in_db: true${more} }\n`;
    writeFileSync(path, text());
    const loaded = loadConfig(path, {});
    if (!loaded.ok) throw new Error('the configuration of the test is refused');
    const services = await servicesOf(t);
    const options = { path, env: {}, services, loaded, runtime: [], isExposed: false, state: null };
    const reloader = new ConfigReloader(options);
    const store = new SharedModels();
    const watcher = new ModelWatcher(store, reloader);
    t.teardown(() => watcher.close());
    const served = (): string[] => [...reloader.active.deployments.keys()];
    /** A look that began now has ended. */
    const look = async (): Promise<void> => {
      for (const { looks } = store; store.looks < looks + 2; mock.timers.tick(1_000)) await turn();
    };
    watcher.start();
    store.store(model('first', 'litellm_proxy/demo'));
    await look();
    t.same(served(), ['first']);
    store.store(model('odd', 'no_such_kind/demo'), model('second', 'litellm_proxy/demo'));
    await look();
    t.same(served(), ['first'], 'what is stored now is refused');
    const { lists } = store;
    await look();
    t.equal(store.lists, lists, 'and not read again as long as nothing changes');
    writeFileSync(path, text(', skip_unsupported_models: true'));
    await reloader.reload();
    await look();
    t.same(served(), ['second'], 'a configuration that allows it');
  },
);
