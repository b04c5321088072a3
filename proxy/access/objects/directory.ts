// All objects of access, in memory, with the indices that calls and administration look them up by. No call waits for a
// database: authentication reads this and nothing else. Changed by `AccessObjects` and by a reload alone.
import type { AccessObject, ObjectKind, ObjectOf, Team, User, VirtualKey } from './objects.ts';

/** Values by a text: one value stands by itself, as nearly all do; 100,000 sets of one would take 20 MB. */
class MultiMap<T extends object> {
  readonly #values = new Map<string, T | Set<T>>();

  add(name: string, value: T): void {
    const held = this.#values.get(name);
    if (held === undefined) this.#values.set(name, value);
    else if (held instanceof Set) held.add(value);
    else this.#values.set(name, new Set([held, value]));
  }

  remove(name: string, value: T): void {
    const held = this.#values.get(name);
    if (held === value) this.#values.delete(name);
    else if (held instanceof Set && held.delete(value) && held.size === 0) this.#values.delete(name);
  }

  get(name: string): readonly T[] {
    const held = this.#values.get(name);
    if (held === undefined) return [];
    return held instanceof Set ? [...held] : [held];
  }

  first(name: string): T | null {
    return this.get(name)[0] ?? null;
  }
}

type Tables = { readonly [K in ObjectKind]: Map<string, ObjectOf<K>> };

/** E-mail addresses are compared without case. */
const folded = (email: string): string => email.trim().toLowerCase();

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
  };
  readonly #aliases = new MultiMap<VirtualKey>();
  readonly #teamKeys = new MultiMap<VirtualKey>();
  readonly #userKeys = new MultiMap<VirtualKey>();
  /** By the values that a key had before it was regenerated. */
  readonly #former = new Map<string, VirtualKey>();
  readonly #memberTeams = new MultiMap<Team>();
  readonly #emails = new MultiMap<User>();
  /** Stored objects that the configuration file states, too: the file wins for as long as it does. By kind and id. */
  readonly #hidden = new Map<string, AccessObject>();
  #version = 0;

  /** One more with every change of any object. */
  get version(): number {
    return this.#version;
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
    return this.#emails.first(folded(email));
  }

  customer(id: string): ObjectOf<'customer'> | null {
    return this.#tables.customer.get(id) ?? null;
  }

  budget(id: string): ObjectOf<'budget'> | null {
    return this.#tables.budget.get(id) ?? null;
  }

  organization(id: string): ObjectOf<'organization'> | null {
    return this.#tables.organization.get(id) ?? null;
  }

  accessGroup(id: string): ObjectOf<'access_group'> | null {
    return this.#tables.access_group.get(id) ?? null;
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
    }
    for (const object of objects) {
      const before = this.get(object);
      if (before?.origin === 'store') this.#hidden.set(hiddenName(before), before);
      this.#replace(before, object);
    }
    return [...this.#hidden.values()];
  }

  /** An object as the store has it, also where the file hides it. */
  stored(name: ObjectName): AccessObject | null {
    const object = this.#hidden.get(hiddenName(name)) ?? this.get(name);
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
    this.#version += 1;
    switch (object.kind) {
      case 'key':
        this.#tables.key.set(object.id, object);
        if (object.alias !== null) this.#aliases.add(object.alias, object);
        if (object.teamId !== null) this.#teamKeys.add(object.teamId, object);
        if (object.userId !== null) this.#userKeys.add(object.userId, object);
        for (const { id } of object.former) this.#former.set(id, object);
        return;
      case 'team':
        this.#tables.team.set(object.id, object);
        for (const { userId } of object.members) this.#memberTeams.add(userId, object);
        return;
      case 'user':
        this.#tables.user.set(object.id, object);
        if (object.email !== null) this.#emails.add(folded(object.email), object);
        return;
      case 'customer':
        this.#tables.customer.set(object.id, object);
        return;
      case 'budget':
        this.#tables.budget.set(object.id, object);
        return;
      case 'organization':
        this.#tables.organization.set(object.id, object);
        return;
      case 'access_group':
        this.#tables.access_group.set(object.id, object);
        return;
    }
  }

  #forget(object: AccessObject): void {
    this.#version += 1;
    this.#unindex(object);
    this.#tables[object.kind].delete(object.id);
  }

  #unindex(object: AccessObject): void {
    if (object.kind === 'key') {
      if (object.alias !== null) this.#aliases.remove(object.alias, object);
      if (object.teamId !== null) this.#teamKeys.remove(object.teamId, object);
      if (object.userId !== null) this.#userKeys.remove(object.userId, object);
      for (const { id } of object.former) if (this.#former.get(id) === object) this.#former.delete(id);
    }
    if (object.kind === 'team')
      for (const { userId } of object.members) this.#memberTeams.remove(userId, object);
    if (object.kind === 'user' && object.email !== null) this.#emails.remove(folded(object.email), object);
  }
}

const hiddenName = ({ kind, id }: ObjectName): string => `${kind}/${id}`;
