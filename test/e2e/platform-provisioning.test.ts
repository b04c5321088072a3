// What an enterprise platform calls to start and to provision its users, call by call: with its header (`x-goog-api-key`), with
// the statuses and texts that it relies on, and answers read as strictly as its models read them.
import { hash } from 'node:crypto';
import t, { type Test } from 'tap';
import { list, manage, managed, type Json, type Managed } from '../support/manage.ts';
import { chat, send, startRig, type Rig } from '../support/rig.ts';

/** The platform's "no limit". */
const UNLIMITED = 1_000_000_000.0;
const DEFAULT_TEAM = 'openhands';
const METADATA = { version: 5, model: 'litellm_proxy/demo' };

/** Reads a value or says what is wrong with it, as a strict pydantic field. */
type Field = (value: unknown, at: string) => void;

const wrong = (at: string, what: string, value: unknown): never => {
  throw new Error(`${at} is no ${what}: ${JSON.stringify(value)}`);
};
const text: Field = (value, at) => void (typeof value === 'string' || wrong(at, 'text', value));
const number: Field = (value, at) => void (Number.isFinite(value) || wrong(at, 'finite number', value));
const whole: Field = (value, at) => void (Number.isInteger(value) || wrong(at, 'whole number', value));
const orNull =
  (field: Field): Field =>
  (value, at) =>
    value === null ? undefined : field(value, at);
const listOf =
  (field: Field): Field =>
  (value, at) => {
    if (!Array.isArray(value)) return wrong(at, 'list', value);
    for (const [n, one] of value.entries()) field(one, `${at}[${n}]`);
  };
/** Members that must be there; others are passed over. `?` behind a name: it may be absent. */
const model =
  (members: Readonly<Record<string, Field>>): Field =>
  (value, at) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return wrong(at, 'object', value);
    for (const [named, field] of Object.entries(members)) {
      const name = named.replace('?', '');
      if (Object.hasOwn(value, name)) field((value as Json)[name], `${at}.${name}`);
      else if (name === named) wrong(`${at}.${name}`, 'member', value);
    }
  };

const KEY_MODEL = model({
  user_id: orNull(text),
  team_id: orNull(text),
  key_alias: orNull(text),
  key_name: text,
  spend: number,
  max_budget: orNull(number),
  metadata: model({}),
});
const TEAM_MODEL = model({
  team_info: model({
    team_id: text,
    max_budget: orNull(number),
    spend: number,
    models: listOf(text),
    metadata: model({ 'version?': whole, 'model?': text, 'team_member_budget_id?': text }),
    members_with_roles: listOf(model({ user_id: text, role: text })),
  }),
  team_memberships: listOf(
    model({
      user_id: text,
      team_id: text,
      budget_id: orNull(text),
      spend: number,
      litellm_budget_table: orNull(model({ max_budget: orNull(number) })),
    }),
  ),
  keys: listOf(KEY_MODEL),
});
const USER_MODEL = model({
  user_info: model({ user_id: text, max_budget: orNull(number), spend: number }),
  keys: listOf(KEY_MODEL),
});

const cloudAlias = (user: string, org: string): string => `OpenHands Cloud - user ${user} - org ${org}`;
const byorAlias = (user: string, org: string): string => `BYOR Key - user ${user}, org ${org}`;

/** The platform's client: what it takes for success, and what it raises. */
class Platform {
  readonly #rig: Rig;
  readonly calls: string[] = [];

  constructor(rig: Rig) {
    this.#rig = rig;
  }

  async #call(call: string, body?: unknown): Promise<Managed> {
    const answer = await manage(this.#rig, call, body);
    this.calls.push(`${call.split('?')[0]} ${answer.status}`);
    return answer;
  }

  async #must(
    call: string,
    body?: unknown,
    accepts: (answer: Managed) => boolean = () => false,
  ): Promise<Managed> {
    const answer = await this.#call(call, body);
    if (answer.status >= 300 && !accepts(answer)) throw new Error(`${call}: ${answer.status} ${answer.text}`);
    return answer;
  }

  /** null: 404. */
  async team(id: string): Promise<Json | null> {
    const answer = await this.#must(
      `GET /team/info?team_id=${id}`,
      undefined,
      ({ status }) => status === 404,
    );
    if (answer.status === 404) return null;
    TEAM_MODEL(answer.json, 'team');
    return answer.json;
  }

  async createTeam(alias: string, id: string, budget: number): Promise<void> {
    const body = {
      team_id: id,
      team_alias: alias,
      models: [],
      max_budget: budget,
      spend: 0,
      metadata: METADATA,
    };
    const exists = ({ status, text: said }: Managed): boolean =>
      status === 400 && said.includes('already exists. Please use a different team id');
    const answer = await this.#must('POST /team/new', body, exists);
    if (answer.status === 400) await this.updateTeam(id, budget);
  }

  async updateTeam(id: string, budget: number | null): Promise<void> {
    await this.#must('POST /team/update', { team_id: id, metadata: METADATA, max_budget: budget });
  }

  async createUser(id: string, email: string | null): Promise<void> {
    const body = (user_email: string | null): Json => ({
      user_email,
      models: [],
      user_id: id,
      teams: [DEFAULT_TEAM],
      auto_create_key: false,
      send_invite_email: false,
      metadata: METADATA,
    });
    const first = await this.#call('POST /user/new', body(email));
    if (first.status < 300) return;
    await this.#must(
      'POST /user/new',
      body(null),
      ({ status, text: said }) => [400, 409].includes(status) && said.includes('already exists'),
    );
  }

  async addMember(user: string, team: string, budget: number): Promise<void> {
    const body = { team_id: team, member: { user_id: user, role: 'user' }, max_budget_in_team: budget };
    await this.#must(
      'POST /team/member_add',
      body,
      ({ status, text: said }) => status === 400 && said.toLowerCase().includes('already in team'),
    );
  }

  async updateMember(user: string, team: string, budget: number): Promise<void> {
    await this.#must('POST /team/member_update', {
      team_id: team,
      user_id: user,
      max_budget_in_team: budget,
    });
  }

  async removeMember(user: string, team: string): Promise<void> {
    const body = { team_id: team, user_id: user };
    await this.#must('POST /team/member_delete', body, ({ status }) => status === 404);
  }

  async key(user: string, team: string | null, alias: string, more: Json = {}): Promise<string> {
    const body = {
      user_id: user,
      models: [],
      ...(team === null ? {} : { team_id: team }),
      key_alias: alias,
      ...more,
    };
    const { json } = await this.#must('POST /key/generate', body);
    text(json['key'], 'key');
    return String(json['key']);
  }

  async deleteKey(body: Json): Promise<void> {
    await this.#must('POST /key/delete', body, ({ status }) => status === 404);
  }

  async user(id: string): Promise<Json | null> {
    const answer = await this.#must(
      `GET /user/info?user_id=${id}`,
      undefined,
      ({ status }) => status === 404,
    );
    if (answer.status === 404) return null;
    USER_MODEL(answer.json, 'user');
    return answer.json;
  }

  updateUser(id: string, more: Json): Promise<Managed> {
    return this.#must('POST /user/update', { user_id: id, ...more });
  }

  async deleteUser(id: string): Promise<void> {
    await this.#must('POST /user/delete', { user_ids: [id] }, ({ status }) => status === 404);
  }

  async deleteTeam(id: string): Promise<void> {
    await this.#must('POST /team/delete', { team_ids: [id] }, ({ status }) => status === 404);
  }

  /** Reads the list without pages, and moves each key by what it finds there. */
  async moveKeys(user: string, team: string): Promise<number> {
    const { json } = await this.#must(`GET /key/list?user_id=${user}`);
    listOf(text)(json['keys'], 'keys');
    for (const key of json['keys'] as string[])
      await this.#must('POST /key/update', { key, team_id: team }, ({ status }) => status === 401);
    return (json['keys'] as string[]).length;
  }

  /** Anything but 200 makes it mint a new key. */
  async isValid(key: string): Promise<boolean> {
    const { status } = await send(this.#rig.url, 'GET', '/v1/models', undefined, {
      authorization: `Bearer ${key}`,
    });
    return status === 200;
  }

  /** Finds its own key among those of the user. */
  async finds(key: string, user: string, org: string): Promise<boolean> {
    const { keys = [] } = (await this.user(user)) ?? {};
    return list(keys).some(
      (one) =>
        one['team_id'] === org &&
        [cloudAlias(user, org), byorAlias(user, org)].includes(String(one['key_alias'])) &&
        key.endsWith(String(one['key_name']).slice(-4)),
    );
  }

  /** Everything that a sign-in does. */
  async provision(user: string, org: string, email: string | null): Promise<string> {
    const known = await this.team(org);
    const budget = Number((known?.['team_info'] as Json | undefined)?.['max_budget'] ?? 0);
    await this.createTeam(user, org, budget);
    await this.createUser(user, email);
    await this.addMember(user, org, budget);
    await this.deleteKey({ key_aliases: [cloudAlias(user, org)] });
    return this.key(user, org, cloudAlias(user, org));
  }
}

/** The init container: waits for the proxy, then makes the team where there is none; anything else fails the pod. */
async function initContainer(t: Test, rig: Rig): Promise<readonly number[]> {
  const alive = await send(rig.url, 'GET', '/health/liveness', undefined, { authorization: '' });
  t.equal(alive.status, 200);
  const found = await manage(rig, `GET /team/info?team_id=${DEFAULT_TEAM}`);
  if (found.status === 200) return [200];
  const made = await manage(rig, 'POST /team/new', {
    team_id: DEFAULT_TEAM,
    team_alias: DEFAULT_TEAM,
    models: [],
    spend: 0,
    metadata: {},
  });
  return [found.status, made.status];
}

t.test('the init container: absent, made, there', async (t) => {
  const rig = await startRig(t);
  t.strictSame(await initContainer(t, rig), [404, 200]);
  t.strictSame(await initContainer(t, rig), [200]);
});

t.test('a first user, twice in a row, and a second one', async (t) => {
  const rig = await startRig(t);
  await initContainer(t, rig);
  const platform = new Platform(rig);
  const key = await platform.provision('u-1', 'org-1', 'one@example.com');
  t.strictSame(platform.calls, [
    'GET /team/info 404',
    'POST /team/new 200',
    'POST /user/new 200',
    'POST /team/member_add 200',
    'POST /key/delete 404',
    'POST /key/generate 200',
  ]);
  t.ok(await platform.isValid(key));
  t.ok(await platform.finds(key, 'u-1', 'org-1'));
  const team = (await platform.team('org-1')) ?? {};
  t.match(team, {
    team_info: {
      max_budget: 0,
      spend: 0,
      metadata: METADATA,
      members_with_roles: [{ user_id: 'u-1', role: 'user' }],
    },
    team_memberships: [{ user_id: 'u-1', litellm_budget_table: { max_budget: 0 } }],
  });

  platform.calls.length = 0;
  const again = await platform.provision('u-1', 'org-1', 'one@example.com');
  t.strictSame(platform.calls, [
    'GET /team/info 200',
    'POST /team/new 400',
    'POST /team/update 200',
    platform.calls[3], // the e-mail address is taken: by this very user
    platform.calls[4],
    'POST /team/member_add 400',
    'POST /key/delete 200',
    'POST /key/generate 200',
  ]);
  for (const call of platform.calls.slice(3, 5)) t.match(call, /^POST \/user\/new (400|409)$/);
  t.notOk(await platform.isValid(key), 'the key before is gone');
  t.ok(await platform.isValid(again));
  t.notOk(await platform.finds(key, 'u-1', 'org-1'));

  await platform.updateTeam('org-1', 50);
  const second = await platform.provision('u-2', 'org-1', 'two@example.com');
  t.match((await platform.team('org-1'))?.['team_memberships'], [
    { user_id: 'u-1' },
    { user_id: 'u-2', litellm_budget_table: { max_budget: 50 } },
  ]);
  t.ok(await platform.isValid(second));
  // Somebody else's address, in other letters: the user is made without one.
  await platform.provision('u-3', 'org-3', 'ONE@example.com');
  t.match((await platform.user('u-3'))?.['user_info'], { user_id: 'u-3', user_email: null });
});

t.test('a user is made where the default team is not there: no init container has run since', async (t) => {
  const rig = await startRig(t);
  const platform = new Platform(rig);
  const key = await platform.provision('u-1', 'org-1', 'one@example.com');
  t.match(platform.calls.slice(0, 3), ['GET /team/info 404', 'POST /team/new 200', 'POST /user/new 200']);
  t.ok(await platform.isValid(key));
  t.match(await platform.user('u-1'), { teams: [{ team_id: 'org-1' }] });
});

t.test('budgets of a team and its members: unlimited, a number, cleared', async (t) => {
  const rig = await startRig(t);
  await initContainer(t, rig);
  const platform = new Platform(rig);
  for (const user of ['a', 'b']) await platform.provision(user, 'org', `${user}@example.com`);
  for (const budget of [UNLIMITED, 25.5, 0]) {
    await platform.updateTeam('org', budget);
    const team = (await platform.team('org')) ?? {};
    for (const { user_id: user } of list(team['team_memberships']))
      await platform.updateMember(String(user), 'org', budget);
    t.match(await platform.team('org'), {
      team_info: { max_budget: budget, metadata: METADATA },
      team_memberships: [
        { user_id: 'a', litellm_budget_table: { max_budget: budget } },
        { user_id: 'b', litellm_budget_table: { max_budget: budget } },
      ],
    });
  }
  await platform.updateTeam('org', null);
  t.match(await platform.team('org'), { team_info: { max_budget: null } });
});

t.test('keys: by value and by hash, rotated, given by the platform itself', async (t) => {
  const rig = await startRig(t);
  await initContainer(t, rig);
  const platform = new Platform(rig);
  await platform.provision('u', 'org', 'u@example.com');
  const alias = byorAlias('u', 'org');
  const byor = await platform.key('u', 'org', alias, { metadata: { type: 'byor' } });
  t.ok(await platform.finds(byor, 'u', 'org'));
  for (const named of [byor, hash('sha256', byor, 'hex')]) {
    const { info } = (await managed(rig, `GET /key/info?key=${named}`)) as { info: Json };
    KEY_MODEL(info, 'key');
    t.match(info, { user_id: 'u', team_id: 'org', key_alias: alias, metadata: { type: 'byor' } });
  }
  await platform.deleteKey({ keys: [byor] });
  t.notOk(await platform.isValid(byor));
  t.equal((await manage(rig, `GET /key/info?key=${byor}`)).status, 404);
  await platform.deleteKey({ keys: [byor] });
  await platform.deleteKey({ key_aliases: [alias] });
  const next = await platform.key('u', 'org', alias, { metadata: { type: 'byor' } });
  t.ok(await platform.isValid(next));

  const given = 'sk-given-by-the-platform-0123456789';
  t.equal(await platform.key('u', 'org', 'given', { key: given }), given);
  t.ok(await platform.isValid(given));
  const twice = await manage(rig, 'POST /key/generate', { user_id: 'u', team_id: 'org', key: given });
  t.ok([200, 400, 409].includes(twice.status), 'each of which the platform tolerates');
});

t.test('a user from before organizations: twelve keys move to a team and back', async (t) => {
  const rig = await startRig(t);
  await initContainer(t, rig);
  const platform = new Platform(rig);
  await platform.createUser('old', 'old@example.com');
  await platform.updateUser('old', { max_budget: 20 });
  const keys: string[] = [];
  for (let n = 0; n < 12; n += 1) keys.push(await platform.key('old', null, `old ${n}`));
  t.match((await platform.user('old'))?.['user_info'], { max_budget: 20, spend: 0 });
  await platform.createTeam('old', 'org', 20);
  await platform.updateUser('old', { max_budget: UNLIMITED });
  await platform.addMember('old', 'org', 20);
  t.equal(await platform.moveKeys('old', 'org'), 12, 'none is forgotten behind a page');
  t.equal(list((await platform.team('org'))?.['keys']).length, 12);
  for (const key of keys) t.ok(await platform.isValid(key));

  await platform.updateUser('old', { max_budget: 20, spend: 3.25 });
  t.match((await platform.user('old'))?.['user_info'], { max_budget: 20 });
  await platform.addMember('old', DEFAULT_TEAM, 20);
  t.equal(await platform.moveKeys('old', DEFAULT_TEAM), 12);
  await platform.removeMember('old', 'org');
  await platform.removeMember('old', 'org');
  await platform.deleteTeam('org');
  await platform.deleteTeam('org');
  t.equal(await platform.team('org'), null);
  for (const key of keys) t.ok(await platform.isValid(key), 'they are of the default team now');
});

t.test('a user and its keys are deleted; the team stays', async (t) => {
  const rig = await startRig(t);
  await initContainer(t, rig);
  const platform = new Platform(rig);
  const key = await platform.provision('u', 'org', 'u@example.com');
  await platform.deleteUser('u');
  t.notOk(await platform.isValid(key));
  t.equal(await platform.user('u'), null);
  await platform.deleteUser('u');
  t.ok(await platform.team('org'));
});

t.test(
  'without billing: personal teams of one name without budgets, and an account that was reset',
  async (t) => {
    const rig = await startRig(t);
    await initContainer(t, rig);
    const platform = new Platform(rig);
    /** Where the platform knows no such user, one that is here is left from before: it is deleted and made anew. */
    const provision = async (user: string, statuses: readonly string[]): Promise<string> => {
      const calls: string[] = [];
      const call = async (line: string, body?: Json): Promise<Managed> => {
        const answer = await manage(rig, line, body);
        calls.push(`${line.replace(/^.*\//, '').replace(/\?.*/, '')} ${answer.status}`);
        return answer;
      };
      const team = { team_id: user, team_alias: 'Personal Workspace', metadata: METADATA };
      await call(`GET /team/info?team_id=${user}`);
      const made = await call('POST /team/new', { ...team, models: [], spend: 0 });
      if (made.status === 400) await call('POST /team/update', team);
      const known = await call(`GET /user/info?user_id=${user}`);
      if (known.status === 200) await call('POST /user/delete', { user_ids: [user] });
      await platform.createUser(user, `${user}@example.com`);
      const { json } = await call(`GET /user/info?user_id=${user}`);
      t.match(json, { user_info: { user_id: user, user_email: `${user}@example.com` } });
      await call('POST /team/member_add', { team_id: user, member: { user_id: user, role: 'user' } });
      await call('POST /key/delete', { key_aliases: [cloudAlias(user, user)] });
      t.strictSame(calls, statuses);
      return platform.key(user, user, cloudAlias(user, user));
    };
    const first = ['info 404', 'new 200', 'info 404', 'info 200', 'member_add 200', 'delete 404'];
    const key = await provision('u-1', first);
    t.ok(await platform.isValid(await provision('u-2', first)), 'a second team of that name');
    t.match(await platform.team('u-1'), {
      team_info: { team_alias: 'Personal Workspace', max_budget: null },
      team_memberships: [{ user_id: 'u-1', spend: 0, litellm_budget_table: null }],
    });
    const again = ['info 200', 'new 400', 'update 200', 'info 200', 'delete 200', 'info 200'];
    const anew = await provision('u-1', [...again, 'member_add 200', 'delete 404']);
    t.notOk(await platform.isValid(key), 'it went with its user');
    t.ok(await platform.isValid(anew));
    t.ok(await platform.finds(anew, 'u-1', 'u-1'));
    await platform.updateMember('u-1', 'u-1', 5);
    const cleared = { team_id: 'u-1', user_id: 'u-1', max_budget_in_team: null };
    t.equal((await manage(rig, 'POST /team/member_update', cleared)).status, 200);
    const { team_memberships: [member] = [] } = (await platform.team('u-1')) as { team_memberships?: Json[] };
    t.notOk((member?.['litellm_budget_table'] as Json | null)?.['max_budget'], 'no cap');
  },
);

/** What of a key the newest platform takes for a restriction that it must not replace; members of the first list say nothing. */
function restrictionsOf(key: Json): readonly string[] {
  const observed =
    /^(?:token|key_name|key_alias|user_id|team_id|team_alias|spend|model_spend|created_at|updated_at|created_by|updated_by|last_active|last_used_at|rotation_count|last_rotation_at)$/;
  return Object.entries(key)
    .filter(([name, value]) => {
      if (observed.test(name) || (name === 'key_type' && value === 'default')) return false;
      if (name === 'metadata') return Object.keys(value as Json).some((one) => one !== 'type');
      if (value === false) return !/^(?:blocked|auto_rotate|soft_budget_cooldown)$/.test(name);
      if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0;
      return value !== null;
    })
    .map(([name]) => name);
}

t.test('a key is made where no other has its name, and no key has restrictions', async (t) => {
  const rig = await startRig(t);
  await initContainer(t, rig);
  const platform = new Platform(rig);
  await platform.createTeam('org', 'org', 5);
  await platform.createUser('u', 'u@example.com');
  await platform.addMember('u', 'org', 5);
  const alias = encodeURIComponent(cloudAlias('u', 'org'));
  const named = async (): Promise<Json> =>
    (await manage(rig, `GET /key/list?key_alias=${alias}&return_full_object=true&size=1`)).json;
  t.match(await named(), { keys: [], total_count: 0 });
  const key = await platform.key('u', 'org', cloudAlias('u', 'org'), { metadata: { type: 'openhands' } });
  t.match(await named(), { keys: [{ team_id: 'org' }], total_count: 1 });
  const [row = {}] = list((await platform.user('u'))?.['keys']);
  t.strictSame(restrictionsOf(row), []);
  t.equal(row['token'], hash('sha256', key, 'hex'), 'by which the platform knows it again');
});

t.test(
  'the platform takes over the budgets of a team: its own caps, and everything else as it was',
  async (t) => {
    const rig = await startRig(t);
    await initContainer(t, rig);
    const platform = new Platform(rig);
    await platform.createTeam('org', 'org', 5);
    for (const user of ['a', 'b']) {
      await platform.createUser(user, `${user}@example.com`);
      await platform.addMember(user, 'org', 5);
      await platform.key(user, 'org', cloudAlias(user, 'org'));
    }
    const clear = { team_id: 'org', user_id: 'b', max_budget_in_team: null };
    t.equal((await manage(rig, 'POST /team/member_update', clear)).status, 200);
    const FIELDS = [
      'soft_budget',
      'budget_limits',
      'models',
      'allowed_models',
      'model_max_budget',
      'blocked',
      'rpm_limit',
      'tpm_limit',
      'max_parallel_requests',
    ];
    const fieldsOf = (row: Json | null): Json =>
      Object.fromEntries(FIELDS.map((name) => [name, row?.[name] ?? null]));
    /** What the platform must find again after it has written, but for the caps. */
    const policy = async (): Promise<Json> => {
      const team = (await platform.team('org')) ?? {};
      const members = list(team['team_memberships']);
      return {
        team: fieldsOf(team['team_info'] as Json),
        members: members.map((one) => [one['user_id'], fieldsOf(one['litellm_budget_table'] as Json | null)]),
        keys: list(team['keys']).map((one) => [text(one['token'], 'token'), one['token'], fieldsOf(one)]),
      };
    };
    const before = await policy();
    const member = { team_id: 'org', budget_duration: null };
    const team = { budget_duration: null, budget_reset_at: null, team_member_budget: null };
    for (const [path, body] of [
      ['/team/member_update', { ...member, user_id: 'a', max_budget_in_team: null }],
      ['/team/member_update', { ...member, user_id: 'b', max_budget_in_team: 7 }],
      ['/team/update', { ...team, team_id: 'org', max_budget: 20, team_member_budget_duration: null }],
    ] as const)
      t.equal((await manage(rig, `POST ${path}`, body)).status, 200, JSON.stringify(body));
    t.strictSame(await policy(), before);
    t.match(await platform.team('org'), {
      team_info: { max_budget: 20, budget_duration: null, budget_reset_at: null, metadata: METADATA },
      team_memberships: [
        { user_id: 'a', litellm_budget_table: null },
        {
          user_id: 'b',
          litellm_budget_table: { max_budget: 7, budget_duration: null, budget_reset_at: null },
        },
      ],
    });
    for (const blocked of [true, false]) {
      t.equal((await manage(rig, 'POST /team/update', { team_id: 'org', blocked })).status, 200);
      t.match(await platform.team('org'), { team_info: { blocked, max_budget: 20 } });
    }
  },
);

t.test('a key that was provisioned makes calls, whose rows name its user and team', async (t) => {
  const rig = await startRig(t);
  await initContainer(t, rig);
  const platform = new Platform(rig);
  await platform.createTeam('u', 'org', UNLIMITED);
  const key = await platform.provision('u', 'org', 'u@example.com');
  const answer = await chat(rig, 'demo', {}, { authorization: `Bearer ${key}` });
  t.equal(answer.status, 200);
  const [row] = await rig.rows();
  t.match(row, { api_key: hash('sha256', key, 'hex'), user: 'u', team_id: 'org' });
});

t.test('the answer is the same whatever header carries the key; a wrong key is 401', async (t) => {
  const rig = await startRig(t);
  for (const headers of [
    { 'x-goog-api-key': 'sk-test-master-key', authorization: '' },
    { authorization: 'Bearer sk-test-master-key' },
    { 'x-api-key': 'sk-test-master-key', authorization: '' },
    { 'api-key': 'sk-test-master-key', authorization: '' },
    { 'x-litellm-api-key': 'sk-test-master-key', authorization: '' },
  ])
    t.equal((await send(rig.url, 'GET', '/team/info?team_id=none', undefined, headers)).status, 404);
  t.equal((await manage(rig, 'GET /team/info?team_id=none', undefined, 'sk-wrong')).status, 401);
});
