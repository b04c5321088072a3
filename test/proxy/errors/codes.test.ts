// The table of faults and the page about it say the same, row by row, in both directions.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { FAULTS, type FaultSource } from '../../../proxy/errors/codes.ts';
import type { FaultRule } from '../../../proxy/errors/fault-rule.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../../docs/errors.md'), 'utf8');
const RULES: readonly (readonly [code: string, rule: FaultRule])[] = Object.entries(FAULTS);

/** Rows of the table below `## The fault of the <source>`, as trimmed cells. */
function rowsOf(source: FaultSource): string[][] {
  const [, after = ''] = PAGE.split(`\n## The fault of the ${source}\n`);
  const [section = ''] = after.split('\n## ');
  return section
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .slice(2) // head and rule
    .map((line) =>
      line
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim().replaceAll('\\|', '|')),
    );
}

for (const source of ['client', 'proxy', 'upstream'] as const) {
  t.test(`docs/errors.md has exactly the faults of the ${source}, in the order of the table`, async (t) => {
    const wanted = RULES.filter(([, rule]) => rule.source === source).map(([code, rule]) => [
      `\`${code}\``,
      String(rule.status),
      `\`${rule.type}\``,
      rule.means,
      rule.fix,
    ]);
    t.ok(wanted.length > 3);
    t.same(rowsOf(source), wanted);
  });
}

/** The one refusal that SDKs shall wait and try again for. */
const LIMITED = 'rate_limit_exceeded';
/** Of a page for people; no SDK ever gets it. */
const THROTTLED = 'too_many_sign_ins';

t.test('no text of the table reads as another error to an SDK', async (t) => {
  for (const [code, rule] of RULES) {
    if (code !== LIMITED)
      t.notMatch(`${code} ${rule.type} ${rule.means} ${rule.fix}`, /429|rate.?limit/i, code);
    t.match(rule.means, /^[A-Z].*\.$/, `${code} is a sentence`);
    t.match(rule.fix, /^[A-Z].*\.$/, `${code} says how to mend it`);
  }
});

const BARRED =
  /^(?:session_not_taken|sign_in_refused|admin_key_required|address_not_allowed|route_denied|management_denied|chaos_denied|\w+_model_access_denied)$/;

t.test('the status tells the side: clients have 4xx, the proxy and upstreams have 5xx', async (t) => {
  for (const [code, { source, status }] of RULES) {
    // Platforms mint a new key at a 403, so only a caller that must not be here gets one.
    const isBarred = BARRED.test(code);
    if (source === 'client')
      t.ok(
        status >= 400 &&
          status < 500 &&
          (status === 429) === (code === LIMITED || code === THROTTLED) &&
          (status === 403) === isBarred,
        code,
      );
    else t.ok(status >= 500 && status < 505, code);
  }
});

t.test('a refused key is never a bad request, because SDKs tell the two apart by the type', async (t) => {
  const refusals = RULES.filter(([, rule]) => rule.status === 401);
  t.same(
    refusals.map(([code, rule]) => [code, rule.type]),
    [
      ['missing_api_key', 'auth_error'],
      ['invalid_api_key', 'auth_error'],
      ['key_blocked', 'auth_error'],
      ['key_expired', 'expired_key'],
      ['team_blocked', 'auth_error'],
      ['team_removed', 'auth_error'],
      ['session_expired', 'auth_error'],
    ],
  );
});
