// All objects of access, in memory, with the indices that calls and administration look them up by. No call waits for a
// database: authentication reads this and nothing else. Changed by `AccessObjects` and by a reload alone.
import type { AccessObject, ObjectKind, ObjectOf, Organization, Team, User, VirtualKey } from './objects.ts';

/**
 * Objects by a text of theirs. Made when it is first asked, which only administration does: for 100,000 keys it is 4 MB and
 * 50 ms that a start does without. One object stands by itself, as nearly all do; so many sets of one would take 20 MB.
 */
class Index<T extends object> {
  readonly #textsOf: (object: T) => readonly (string | null)[];
  readonly #all: () => Iterable<T>;
  #objects: Map<string, T | Set<T>> | null = null;

  constructor(all: () => Iterable<T>, textsOf: (object: T) => readonly (string | null)[]) {
    this.#all = all;
    this.#textsOf = textsOf;
  }

  get(text: string): readonly T[] {
    const held = this.#made().get(text);
    if (held === undefined) return [];
    return held instanceof Set ? [...held] : [held];
  }

  first(text: string): T | null {
    return this.get(text)[0] ?? null;
  }

  add(object: T): void {
    if (this.#objects !== null) this.#add(this.#objects, object);
  }

  remove(object: T): void {
    const objects = this.#objects;
    if (objects === null) return;
    for (const text of this.#textsOf(object)) {
      if (text === null) continue;
      const held = objects.get(text);
      if (held === object) objects.delete(text);
      else if (held instanceof Set && held.delete(object) && held.size === 0) objects.delete(text);
    }
  }

  #made(): ReadonlyMap<string, T | Set<T>> {
    if (this.#objects !== null) return this.#objects;
    const objects = new Map<string, T | Set<T>>();
    for (const object of this.#all()) this.#add(objects, object);
    return (this.#objects = objects);
  }

  #add(objects: Map<string, T | Set<T>>, object: T): void {
    for (const text of this.#textsOf(object)) {
      if (text === null) continue;
      const held = objects.get(text);
      if (held === undefined) objects.set(text, object);
      else if (held instanceof Set) held.add(object);
      else if (held !== object) objects.set(text, new Set([held, object]));
    }
  }
}

type Tables = { readonly [K in ObjectKind]: Map<string, ObjectOf<K>> };

/** E-mail addresses are compared without case. */
export const foldedEmail = (email: string): string => email.trim().toLowerCase();

/** Which object: the id is unique within its kind. */
export interface ObjectName {
  readonly kind: ObjectKind;
  readonly id: string;
}

export class AccessDirectory {
  readonly #tables: Tables = {
    key: new Map(),
    team: new Map(),
    user: new Map(),
    customer: new Map(),
    budget: new Map(),
    organization: new Map(),
    access_group: new Map(),
    tag: new Map(),
    sign_out: new Map(),
  };
  readonly #aliases = new Index<VirtualKey>(
    () => this.all('key'),
    ({ alias }) => [alias],
  );
  readonly #teamKeys = new Index<VirtualKey>(
    () => this.all('key'),
    ({ teamId }) => [teamId],
  );
  readonly #userKeys = new Index<VirtualKey>(
    () => this.all('key'),
    ({ userId }) => [userId],
  );
  readonly #keyIndices = [this.#aliases, this.#teamKeys, this.#userKeys];
  /** By the values that a key had before it was regenerated. */
  readonly #former = new Map<string, VirtualKey>();
  readonly #memberTeams = new Index<Team>(
    () => this.all('team'),
    ({ members }) => members.map(({ userId }) => userId),
  );
  readonly #memberOrganizations = new Index<Organization>(
    () => this.all('organization'),
    ({ members }) => members.map(({ userId }) => userId),
  );
  readonly #emails = new Index<User>(
    () => this.all('user'),
    ({ email }) => [email === null ? null : foldedEmail(email)],
  );
  /** Stored objects that the configuration file states, too: the file wins for as long as it does. By kind and id. */
  readonly #hidden = new Map<string, AccessObject>();
  #groupsVersion = 0;

  /** One more with every change of an access group: what was derived from them is out of date. */
  get groupsVersion(): number {
    return this.#groupsVersion;
  }

  /** By the SHA-256 of its present value. */
  key(id: string): VirtualKey | null {
    return this.#tables.key.get(id) ?? null;
  }

  /** The key that a credential with this SHA-256 is, or was until a moment ago. */
  keyOfCredential(sha256: string, nowMs: number): VirtualKey | null {
    const key = this.#tables.key.get(sha256);
    if (key !== undefined) return key;
    const renewed = this.#former.get(sha256);
    const isValid = renewed?.former.some(({ id, untilMs }) => id === sha256 && nowMs < untilMs);
    return renewed !== undefined && isValid === true ? renewed : null;
  }

  keyByAlias(alias: string): VirtualKey | null {
    return this.#aliases.first(alias);
  }

  keysOfTeam(teamId: string): readonly VirtualKey[] {
    return this.#teamKeys.get(teamId);
  }

  keysOfUser(userId: string): readonly VirtualKey[] {
    return this.#userKeys.get(userId);
  }

  team(id: string): Team | null {
    return this.#tables.team.get(id) ?? null;
  }

  /** The teams that list a user as a member. */
  teamsOf(userId: string): readonly Team[] {
    return this.#memberTeams.get(userId);
  }

  user(id: string): User | null {
    return this.#tables.user.get(id) ?? null;
  }

  /** In any case of letters. */
  userByEmail(email: string): User | null {
    return this.#emails.first(foldedEmail(email));
  }

  customer(id: string): ObjectOf<'customer'> | null {
    return this.#tables.customer.get(id) ?? null;
  }

  budget(id: string): ObjectOf<'budget'> | null {
    return this.#tables.budget.get(id) ?? null;
  }

  organization(id: string): Organization | null {
    return this.#tables.organization.get(id) ?? null;
  }

  /** The organizations that list a user as a member. */
  organizationsOf(userId: string): readonly Organization[] {
    return this.#memberOrganizations.get(userId);
  }

  accessGroup(id: string): ObjectOf<'access_group'> | null {
    return this.#tables.access_group.get(id) ?? null;
  }

  tag(name: string): ObjectOf<'tag'> | null {
    return this.#tables.tag.get(name) ?? null;
  }

  /** Whether a session of the console was ended before its time. */
  isSignedOut(sessionId: string): boolean {
    return this.#tables.sign_out.has(sessionId);
  }

  /** In no order that says anything. */
  all<K extends ObjectKind>(kind: K): Iterable<ObjectOf<K>> {
    return this.#table(kind).values();
  }

  count(kind: ObjectKind): number {
    return this.#tables[kind].size;
  }

  get({ kind, id }: ObjectName): AccessObject | null {
    return this.#tables[kind].get(id) ?? null;
  }

  /** Adds or replaces; of a stored object that the file states, too, nothing is seen. */
  put(object: AccessObject): void {
    const before = this.get(object);
    if (object.origin === 'store' && before?.origin === 'file') this.#hidden.set(hiddenName(object), object);
    else this.#replace(before, object);
  }

  /**
   * Adds or replaces what the store tells, unless something newer of that object is here; one that was made anew begins at
   * revision 1.
   * @return whether it is hidden from now on, because the configuration file states it, too
   */
  putNewer(object: AccessObject): boolean {
    const before = this.get(object);
    const isHidden = before?.origin === 'file';
    const known = isHidden ? this.#hidden.get(hiddenName(object)) : before;
    const isNew = known === undefined || known === null;
    if (!isNew && known.createdMs === object.createdMs && known.revision >= object.revision) return false;
    if (isHidden) this.#hidden.set(hiddenName(object), object);
    else this.#replace(before, object);
    return isHidden && isNew;
  }

  /** Forgets a stored object; what the file states stays. */
  remove(name: ObjectName): void {
    const before = this.get(name);
    this.#hidden.delete(hiddenName(name));
    if (before?.origin === 'store') this.#forget(before);
  }

  /**
   * Takes the objects of another configuration file in place of those of the one before.
   * @return the stored ones that the file hides
   */
  takeFile(objects: readonly AccessObject[]): readonly AccessObject[] {
    const stated = new Set(objects.map(hiddenName));
    const gone = [...this.#everything()].filter(
      (one) => one.origin === 'file' && !stated.has(hiddenName(one)),
    );
    for (const object of gone) {
      const stored = this.#hidden.get(hiddenName(object));
      this.#hidden.delete(hiddenName(object));
      if (stored === undefined) this.#forget(object);
      else this.#replace(object, stored);
      if (object.kind === 'team' && stored === undefined) this.#closeKeysOf(object.id);
    }
    for (const object of objects) {
      const before = this.get(object);
      if (before?.origin === 'store') this.#hidden.set(hiddenName(before), before);
      this.#replace(before, object);
    }
    return [...this.#hidden.values()];
  }

  /** Stored keys of teams of the file that do not know that it states these. */
  unboundKeys(): readonly VirtualKey[] {
    return [...this.all('team')]
      .filter(({ origin }) => origin === 'file')
      .flatMap(({ id }) => this.keysOfTeam(id))
      .filter(({ origin, needsTeam }) => origin === 'store' && !needsTeam);
  }

  /** Those that are not told yet, too: another server has made them, whose file does not state the team. */
  #closeKeysOf(teamId: string): void {
    for (const key of this.keysOfTeam(teamId))
      if (key.origin === 'store') this.#replace(key, Object.freeze({ ...key, needsTeam: true }));
  }

  /** An object as the store has it, also where the file hides it. */
  stored(name: ObjectName): AccessObject | null {
    const hidden = this.#hidden.size === 0 ? undefined : this.#hidden.get(hiddenName(name));
    const object = hidden ?? this.get(name);
    return object?.origin === 'store' ? object : null;
  }

  *#everything(): Generator<AccessObject> {
    for (const table of Object.values(this.#tables)) yield* table.values();
  }

  #table<K extends ObjectKind>(kind: K): Tables[K] {
    return this.#tables[kind];
  }

  #replace(before: AccessObject | null, object: AccessObject): void {
    if (before !== null) this.#unindex(before);
    switch (object.kind) {
      case 'key':
        this.#tables.key.set(object.id, object);
        for (const index of this.#keyIndices) index.add(object);
        for (const { id } of object.former) this.#former.set(id, object);
        return;
      case 'team':
        this.#tables.team.set(object.id, object);
        this.#memberTeams.add(object);
        return;
      case 'user':
        this.#tables.user.set(object.id, object);
        this.#emails.add(object);
        return;
      case 'customer':
        this.#tables.customer.set(object.id, object);
        return;
      case 'budget':
        this.#tables.budget.set(object.id, object);
        return;
      case 'organization':
        this.#tables.organization.set(object.id, object);
        this.#memberOrganizations.add(object);
        return;
      case 'access_group':
        this.#groupsVersion += 1;
        this.#tables.access_group.set(object.id, object);
        return;
      case 'tag':
        this.#tables.tag.set(object.id, object);
        return;
      case 'sign_out':
        this.#tables.sign_out.set(object.id, object);
        return;
    }
  }

  #forget(object: AccessObject): void {
    if (object.kind === 'access_group') this.#groupsVersion += 1;
    this.#unindex(object);
    this.#tables[object.kind].delete(object.id);
  }

  #unindex(object: AccessObject): void {
    if (object.kind === 'key') {
      for (const index of this.#keyIndices) index.remove(object);
      for (const { id } of object.former) if (this.#former.get(id) === object) this.#former.delete(id);
    }
    if (object.kind === 'team') this.#memberTeams.remove(object);
    if (object.kind === 'organization') this.#memberOrganizations.remove(object);
    if (object.kind === 'user') this.#emails.remove(object);
  }
}

const hiddenName = ({ kind, id }: ObjectName): string => `${kind}/${id}`;
