// The section `console`: when it is on, what its settings become, and what cannot work.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { loadConfig, type Loaded } from '../../../config/load.ts';

const MASTER = 'master_key: sk-master';
const OIDC = 'issuer: https://login.example.com, client_id: c, roles: { a: proxy_admin }';

function loaded(t: Test, general: string): Loaded {
  const path = join(t.testdir(), 'gateway.yaml');
  writeFileSync(path, `model_list: []\ngeneral_settings: { ${general} }\n`);
  return loadConfig(path, {});
}

t.test('on where a master key is set, and as the file says', async (t) => {
  const isOn = (general: string): boolean | null => {
    const result = loaded(t, general);
    return result.ok ? result.snapshot.console !== null : null;
  };
  t.equal(isOn(''), false);
  t.equal(isOn(MASTER), true);
  t.equal(isOn(`${MASTER}, console: { enabled: false }`), false);
  t.equal(isOn('console: { enabled: true }'), true);
  const result = loaded(
    t,
    `${MASTER}, console: { public_url: "https://llm.example.com/gw/", session_hours: "0.5", idle_minutes: 1, oidc: { ${OIDC}, scopes: [groups, openid] } }`,
  );
  t.match(result.ok && result.snapshot.console, {
    publicUrl: 'https://llm.example.com/gw',
    sessionMs: 1_800_000,
    idleMs: 60_000,
    oidc: {
      clientSecret: null,
      clientAuth: 'client_secret_basic',
      scopes: ['openid', 'groups'],
      groupsClaim: 'groups',
      userClaim: 'sub',
      name: 'single sign-on',
      roles: new Map([['a', 'proxy_admin']]),
    },
  });
});

t.test('what cannot work is refused with its place and what to do', async (t) => {
  const url = 'public_url: "https://llm.example.com"';
  const cases: readonly (readonly [general: string, says: RegExp])[] = [
    [`${MASTER}, console: { oidc: { ${OIDC} } }`, /console\.oidc.*needs console\.public_url/],
    [`console: { enabled: true, ${url}, oidc: { ${OIDC} } }`, /needs a master key/],
    [
      `${MASTER}, console: { ${url}, oidc: { ${OIDC.replace('https', 'http')} } }`,
      /issuer.*is not an https address/,
    ],
    [`${MASTER}, console: { ${url}, oidc: { issuer: "https://a.example", client_id: c } }`, /roles/],
    [
      `${MASTER}, console: { ${url}, oidc: { ${OIDC.replace('proxy_admin', 'root')} } }`,
      /proxy_admin_viewer/,
    ],
    [`${MASTER}, console: { public_url: llm.example.com }`, /is not the address of a page/],
    [`${MASTER}, console: { public_url: "https://u:p@llm.example.com" }`, /is not the address of a page/],
    [`${MASTER}, console: { public_url: "https://llm.example.com/ui" }`, /leave \/ui out/],
    [`${MASTER}, console: { session_hours: 0 }`, /session_hours/],
    [`${MASTER}, console: { idle_minutes: -1 }`, /idle_minutes/],
  ];
  for (const [general, says] of cases) {
    const result = loaded(t, general);
    t.notOk(result.ok, general);
    if (!result.ok) t.match(result.issues.map((issue) => JSON.stringify(issue)).join('\n'), says, general);
  }
});
