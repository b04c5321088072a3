// A start that fails on its way leaves nothing open.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { CannotStart } from '../../../proxy/errors/cannot-start.ts';
import { openLog } from '../../../proxy/observability/logger.ts';
import { startProxy } from '../../../proxy/server/proxy.ts';
import { lockHolder } from '../../../proxy/spend/store/lock.ts';
import { tempDir } from '../spend/store/fixture/temp-dir.ts';

const MODELS = `model_list: [{ model_name: demo, litellm_params: { model: openai/x, api_base: "http://127.0.0.1:1/v1", api_key: k } }]
general_settings: { master_key: sk-test-master-key }
`;

/** Where it fails, from the first step behind the records to the last. */
const FAILS: readonly (readonly [where: string, config: string, prepare: (dataDir: string) => void])[] = [
  [
    'the platform',
    `platform: { session_api_key: sk-platform-key-of-tests, secret_key: "${'A'.repeat(43)}=" }\n`,
    (dataDir) => mkdirSync(join(dataDir, 'platform.db')),
  ],
  [
    'a file of Valkey',
    'router_settings: { redis_url: "rediss://127.0.0.1:1", redis_ssl_ca_certs: /nowhere/ca.pem }\n',
    () => undefined,
  ],
  ['alerts', '', (dataDir) => writeFileSync(join(dataDir, 'alerts'), '')],
];

for (const [where, config, prepare] of FAILS)
  t.test(`a start that ${where} ends leaves the data directory to the next one`, async (t) => {
    const folder = tempDir(t);
    const configPath = join(folder, 'gateway.yaml');
    const dataDir = join(folder, 'data');
    mkdirSync(dataDir);
    prepare(dataDir);
    writeFileSync(configPath, MODELS + config);
    const { log } = openLog('silent');
    const options = { configPath, dataDir, host: '127.0.0.1', port: 0, env: {}, log };
    await t.rejects(startProxy(options), CannotStart);
    t.equal(lockHolder(dataDir), null);
  });
