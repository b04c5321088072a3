// What one server deletes while another gives it to something: one of the two is refused, and nothing is left without its cap.
// What both delete, the later one does not need to. PostgreSQL holds all writers until both have begun.
import pg from 'pg';
import t, { type Test } from 'tap';
import { list, manage, managed, newKey, type Json, type Managed } from '../support/manage.ts';
import { WallClock } from '../support/clock.ts';
import { codeOf, PageClient } from '../support/page-client.ts';
import { ownPostgres } from '../support/postgres.ts';
import { defaultConfig, KEY, startRig, type Rig } from '../support/rig.ts';
import type { Teardown } from '../support/process-cleanup.ts';

interface Servers {
  readonly one: Rig;
  readonly two: Rig;
  /** Of both. */
  readonly clock: WallClock;
  /** Begins `first`, then `second`, and lets them store in this order. */
  inOrder<Answer>(
    first: () => Promise<Answer>,
    second: () => Promise<Answer>,
  ): Promise<readonly [Answer, Answer]>;
}

/** Two servers on one database; null: no PostgreSQL is installed. */
async function twoServers(t: Teardown): Promise<Servers | null> {
  const server = await ownPostgres(t);
  if (server === null) return null;
  const url = server.url();
  const env = { DATABASE_URL: url };
  const clock = new WallClock();
  const one = await startRig(t, { env, clock });
  const two = await startRig(t, { env, clock, config: () => defaultConfig(one.demo) });
  const schema = new URL(url).searchParams.get('schema');
  const [holder, watcher] = [clientOf(t, url), clientOf(t, url)];
  await Promise.all([holder.connect(), watcher.connect()]);
  // Tables that a server makes when it first needs them have a lock of their own, for which it may wait meanwhile.
  const waiting = async (): Promise<number> => {
    const sql = `SELECT count(*) AS n FROM pg_stat_activity
      WHERE wait_event_type = 'Lock' AND query LIKE '%UPDATE "${schema}".access_changes%'`;
    const { rows } = await watcher.query<{ n: string }>(sql);
    return Number(rows[0]?.n);
  };
  const begun = async <Answer>(
    call: () => Promise<Answer>,
    count: number,
  ): Promise<{ readonly answer: Promise<Answer> }> => {
    const answer = call();
    while ((await waiting()) < count);
    return { answer };
  };
  return {
    one,
    two,
    clock,
    inOrder: async (first, second) => {
      await holder.query(`BEGIN; SELECT * FROM "${schema}".access_changes FOR UPDATE`);
      const { answer: former } = await begun(first, 1);
      const { answer: latter } = await begun(second, 2);
      await holder.query('ROLLBACK');
      return [await former, await latter];
    },
  };
}

function clientOf(t: Teardown, url: string): pg.Client {
  const client = new pg.Client({ connectionString: url.replace(/\?.*/, '') });
  t.teardown(() => client.end());
  return client;
}

/** A test that is left out, and says so, where there is no PostgreSQL. */
function onServers(title: string, play: (t: Test, servers: Servers) => Promise<void>): void {
  t.test(title, async (t) => {
    const servers = await twoServers(t);
    if (servers === null) t.comment('no PostgreSQL is installed');
    else await play(t, servers);
  });
}

const TAKERS: readonly (readonly [call: string, body: (id: string) => Json])[] = [
  ['POST /key/generate', (budget_id) => ({ budget_id })],
  ['POST /customer/new', (budget_id) => ({ budget_id, user_id: budget_id })],
  ['POST /team/new', (budget_id) => ({ metadata: { team_member_budget_id: budget_id } })],
];

onServers(
  'a budget that one server deletes while another gives it to something',
  async (t, { one, two, inOrder }) => {
    for (const [n, [call, body]] of TAKERS.entries()) {
      const make = (id: string): Promise<Json> =>
        managed(one, 'POST /budget/new', { budget_id: id, max_budget: 0 });
      const take = (id: string) => (): Promise<Managed> => manage(two, call, body(id));
      const remove = (id: string) => (): Promise<Managed> => manage(one, 'POST /budget/delete', { id });

      await make(`kept${n}`);
      const [taken, refused] = await inOrder(take(`kept${n}`), remove(`kept${n}`));
      t.same([taken.status, refused.status], [200, 400], `${call}: ${refused.text}`);
      t.match(refused.text, / is in use by /);
      t.match(await managed(two, 'POST /budget/info', { budgets: [`kept${n}`] }), [{ max_budget: 0 }]);

      await make(`gone${n}`);
      const [removed, late] = await inOrder(remove(`gone${n}`), take(`gone${n}`));
      t.same([removed.status, late.status], [200, 400], `${call}: ${late.text}`);
      t.match(late.text, /[Bb]udget/);
    }
  },
);

onServers(
  'an organization that one server deletes while another makes keys and teams of it',
  async (t, { one, two, inOrder }) => {
    for (const call of ['POST /key/generate', 'POST /team/new'])
      for (const isFirst of [true, false]) {
        const organization_id = `${call.slice(6, 9)}-${isFirst}`;
        await managed(one, 'POST /organization/new', { organization_id, organization_alias: 'o' });
        const take = (): Promise<Managed> => manage(two, call, { organization_id });
        const remove = (): Promise<Managed> =>
          manage(one, 'DELETE /organization/delete', { organization_ids: [organization_id] });
        const [former, latter] = isFirst ? await inOrder(take, remove) : await inOrder(remove, take);
        t.same([former.status, latter.status], isFirst ? [200, 200] : [200, 400], `${call}: ${latter.text}`);
        const { keys } = await managed(two, 'GET /key/list?return_full_object=true&size=100');
        t.notOk(
          list(keys).some((one) => one['organization_id'] === organization_id),
          call,
        );
        t.same(await managed(two, `GET /team/list?organization_id=${organization_id}`), [], call);
      }
  },
);

onServers(
  'a user that one server deletes while another makes keys by a key of theirs',
  async (t, { one, two, inOrder }) => {
    for (const isFirst of [true, false]) {
      await managed(one, 'POST /user/new', { user_id: 'u', max_budget: 0, auto_create_key: false });
      const own = await newKey(one, { user_id: 'u' });
      const make = (): Promise<Managed> => manage(two, 'POST /key/generate', {}, own);
      const remove = (): Promise<Managed> => manage(one, 'POST /user/delete', { user_ids: ['u'] });
      const [former, latter] = isFirst ? await inOrder(make, remove) : await inOrder(remove, make);
      t.same([former.status, latter.status], isFirst ? [200, 200] : [200, 401], latter.text);
      t.same((await managed(two, 'GET /key/list?user_id=u'))['keys'], []);
    }
  },
);

onServers(
  'sign-outs on two servers that both forget an old one, and both of which count',
  async (t, { one, two, clock, inOrder }) => {
    const signedIn = async ({ url }: Rig): Promise<PageClient> => {
      const page = new PageClient(url);
      t.equal((await page.signIn(KEY)).status, 200);
      return page;
    };
    const signOut = (page: PageClient) => () => page.call('DELETE', '/ui/session');
    t.equal((await signOut(await signedIn(one))()).status, 204);
    clock.advance(169 * 3_600_000);
    for (const rig of [one, two]) await managed(rig, 'GET /key/list'); // both know the old one

    const [first, second] = [await signedIn(one), await signedIn(two)];
    const copies = [first, second].map(({ url, cookies }) => new PageClient(url, cookies));
    const answers = await inOrder(signOut(first), signOut(second));
    t.same(
      answers.map(({ status }) => status),
      [204, 204],
    );
    for (const copy of copies) t.equal(codeOf(await copy.call('GET', '/model/info')), 'session_expired');
  },
);
