import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { DEFAULT_WORDS, dialectOf, ENV_MARKER } from '../../config/dialect.ts';

t.test('three words give every spelling', async (t) => {
  t.strictSame(dialectOf(DEFAULT_WORDS), {
    brand: 'litellm',
    compat: 'openai',
    sdk: 'stainless',
    proxyPrefix: 'litellm_proxy',
    compatPrefix: 'openai',
    headerPrefix: 'x-litellm-',
    sdkHeaderPrefix: 'x-stainless',
    sessionHeader: 'x-litellm-session-id',
    spendMetadataHeader: 'x-litellm-spend-logs-metadata',
    metadataMember: 'litellm_metadata',
    sessionSources: {
      header: 'x-litellm-session-id',
      member: 'body.litellm_session_id',
      traceHeader: 'x-litellm-trace-id',
      traceMember: 'body.litellm_trace_id',
    },
  });
  t.match(dialectOf({ brand: 'acme', compat: 'plain', sdk: 'speakeasy' }), {
    proxyPrefix: 'acme_proxy',
    compatPrefix: 'plain',
    headerPrefix: 'x-acme-',
    sdkHeaderPrefix: 'x-speakeasy',
    sessionHeader: 'x-acme-session-id',
  });
  t.ok(Object.isFrozen(dialectOf(DEFAULT_WORDS)));
  t.equal(ENV_MARKER, 'os.environ/');
});

t.test('no rule of the request path spells a brand word by itself', async (t) => {
  const root = join(import.meta.dirname, '../../proxy');
  const found: string[] = [];
  for (const folder of [
    'base',
    'bodies',
    'headers',
    'protocols',
    'spend/record',
    'spend/journal',
    'spend/store',
    'observability',
    'downstream',
    'upstream',
    'relay',
    'pipeline',
    'api',
  ]) {
    for (const name of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).filter((one) =>
      one.endsWith('.ts'),
    )) {
      readFileSync(join(root, folder, name), 'utf8')
        .split('\n')
        .map((line) => line.replace(/\s*(?:\/\/|\/\*\*?|\*).*$/, '').replace(/LITELLM_[A-Z_]+/g, '')) // names of variables
        .forEach((line, i) => {
          if (/['"`/][^'"`]*(?:litellm|stainless)/i.test(line))
            found.push(`${folder}/${name}:${i + 1} ${line.trim()}`);
        });
    }
  }
  t.same(found, []);
});
