// What cannot work of the section `platform` is refused at its place, with what to do instead.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { loadConfig } from '../../../config/load.ts';

const KEY = Buffer.alloc(32, 7).toString('base64');

t.test('what cannot work is refused with its place and what to do', (t) => {
  const cases: readonly (readonly [general: string, platform: string, says: RegExp])[] = [
    ['workers: 2', `secret_key: ${KEY}`, /single process.*set workers: 1, or remove the platform section/],
    ['workers: auto', `secret_key: ${KEY}`, /single process/],
    ['', 'secret_key: short', /secret_key.*openssl rand -base64 32/],
    ['', `secret_key: ${Buffer.alloc(16).toString('base64')}`, /secret_key.*openssl rand -base64 32/],
    ['', `secret_key: ${KEY}, host: 127.0.0.1`, /has no effect without a port/],
  ];
  for (const [general, platform, says] of cases) {
    const path = join(t.testdir(), 'gateway.yaml');
    writeFileSync(
      path,
      `model_list: []\ngeneral_settings: { ${general} }\nplatform: { session_api_key: k, ${platform} }\n`,
    );
    const loaded = loadConfig(path, {});
    t.notOk(loaded.ok, platform);
    if (!loaded.ok) t.match(loaded.issues.map((issue) => JSON.stringify(issue)).join('\n'), says);
  }
  t.end();
});
