// Entries of azure/ with a token of Entra: where it goes, that it goes alone, and what is refused by name.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import t from 'tap';
import { formatIssue } from '../../../config/issue.ts';
import { loadConfig } from '../../../config/load.ts';

const folder = t.testdir({ token: 'from-a-file\n' });
const path = join(folder, 'gateway.yaml');
const AZURE = 'model: azure/x, api_base: "https://r.openai.azure.com"';

/** `header credential`, or the issues. */
function credential(params: string, env: Readonly<Record<string, string>> = {}, more = ''): string {
  writeFileSync(path, `model_list:\n  - model_name: m\n    litellm_params: { ${params} }\n${more}`);
  const result = loadConfig(path, env);
  if (!result.ok) return result.issues.map(formatIssue).join('\n');
  const [found] = result.snapshot.deployments;
  t.notMatch(inspect(result.snapshot.deployments, { depth: 12 }), /ey-entra|from-a-file/);
  return `${found?.credentialHeader} ${found?.apiKey?.reveal() ?? 'none'}`;
}

t.test('a token goes as a bearer, a key as api-key', async (t) => {
  t.equal(credential(`${AZURE}, azure_ad_token: ey-entra`), 'authorization ey-entra');
  t.equal(
    credential(`${AZURE}, azure_ad_token: os.environ/T`, { T: 'ey-entra', AZURE_API_KEY: 'k' }),
    'authorization ey-entra',
  );
  t.equal(credential(`${AZURE}, azure_ad_token_file: token`), 'authorization from-a-file');
  const named =
    'credential_list:\n  - { credential_name: c, credential_values: { azure_ad_token: ey-entra } }\n';
  t.equal(credential(`${AZURE}, litellm_credential_name: c`, {}, named), 'authorization ey-entra');
  t.equal(credential(`${AZURE}, api_key: k`), 'api-key k');
});

t.test('what cannot be meant is refused by name', async (t) => {
  t.match(
    credential(`${AZURE}, api_key: k, azure_ad_token: ey-entra`),
    /azure_ad_token.* stands beside api_key/,
  );
  t.match(credential(`${AZURE}, azure_ad_token: "ey entra"`), /azure_ad_token.*the token contains a space/);
  t.match(credential(`${AZURE}, azure_ad_token: oidc/google/aud`), /azure_ad_token.*exchanged/);
  t.match(credential(`${AZURE}, azure_ad_token: OIDC/x`), /exchanged/);
  for (const key of ['tenant_id', 'client_id', 'client_secret', 'azure_ad_token_provider']) {
    const said = credential(`${AZURE}, ${key}: shh-value`);
    t.match(said, new RegExp(`${key}.*would ask Entra.*azure_ad_token_file`), key);
    t.notMatch(said, /shh-value/);
    t.equal(credential(`${AZURE}, api_key: k, ${key}: a`), 'api-key k', 'LiteLLM does not read them either');
    t.equal(credential(`${AZURE}, ${key}: a`, { AZURE_API_KEY: 'k' }), 'api-key k');
    t.equal(credential(`${AZURE}, api_key: k, ${key}:`), 'api-key k');
    t.equal(credential(`model: openai/x, api_base: "https://gw/v1", ${key}: a`), 'authorization none');
  }
  t.equal(
    credential('model: openai/x, api_base: "https://gw/v1", api_key: k, azure_ad_token: ey-entra'),
    'authorization k',
  );
});
