// Lists as text: the JSON of the whole, made in turns that other requests come between.
import t from 'tap';
import { StoredObjects } from '../../../proxy/access/objects/access-objects.ts';
import { teamList } from '../../../proxy/api/access/teams-read.ts';
import { emptyTeam } from '../../../proxy/api/access/teams-fields.ts';
import type { Call } from '../../../proxy/api/access/management-call.ts';
import { jsonList } from '../../../proxy/api/json-pieces.ts';
import { countTurns } from '../../support/turns.ts';

t.test('the text is the JSON of all rows', async (t) => {
  for (const count of [0, 1, 49, 50, 51, 120]) {
    const rows = Array.from({ length: count }, (_, id) => ({ id, name: 'ü"\n' }));
    t.equal((await jsonList(rows, (row) => row)).bytes.toString(), JSON.stringify(rows));
  }
});

t.test('/team/list of many teams makes at most 50 rows in one turn of the event loop', async (t) => {
  const turns = countTurns(t);
  const teams = Array.from({ length: 400 }, (_, i) => ({
    ...emptyTeam(`team ${i}`, { nowMs: 0, by: null }),
    get modelAliases() {
      turns.step(); // its row is made
      return {};
    },
  }));
  const access = StoredObjects.inMemory(teams);
  const spending = { spentBy: (scopes: readonly unknown[]) => Promise.resolve(scopes.map(() => 0n)) };
  const snapshot = { dialect: { brand: 'litellm' }, budgets: { timeZone: 'UTC', resetMinute: 0 } };
  const call = {
    x: { startMs: 0, active: { snapshot, services: { access, spending } } },
    caller: { role: 'admin' },
    query: new URLSearchParams(),
  } as unknown as Call;
  const rows = JSON.parse((await teamList(call)).bytes.toString()) as unknown[];
  t.equal(rows.length, 400);
  t.equal(turns.most(), 50);
});
