// A user's secrets: named values that their conversations may use. One sealed document per user. Values go to sandboxes of
// the same user and nowhere else: no answer to a user and no line of a log holds one.
import { Secret } from '../../config/secret.ts';
import { invalidValue, refuse } from '../api/refusal.ts';
import { MASK } from '../settings/secrets.ts';
import type { Documents } from '../store/documents.ts';

/** What may be told of a secret. */
export interface SecretOutline {
  readonly name: string;
  readonly description: string | null;
}

interface StoredSecret extends SecretOutline {
  readonly value: string;
}

export interface SecretsDocument {
  /** In the order in which they were made. */
  readonly secrets: readonly StoredSecret[];
}

/** A secret as a request states it. */
interface NewSecret {
  readonly name: string;
  readonly value: string;
  /** undefined = as it was. */
  readonly description: string | null | undefined;
}

/** The agent server's rule: a name becomes one of an environment variable. */
const NAME = /^[a-zA-Z][a-zA-Z0-9_]{0,63}$/;
const MAX_SECRETS = 100;
/** Linux takes 128 KiB for one variable of an environment; 100 of these fit into one document. */
const VALUE_BYTES = 32 * 1024;
const DESCRIPTION_CHARS = 1_000;

export class UserSecrets {
  readonly #documents: Documents<SecretsDocument>;

  constructor(documents: Documents<SecretsDocument>) {
    this.#documents = documents;
  }

  async list(userId: string): Promise<readonly SecretOutline[]> {
    const { secrets } = (await this.#documents.read(userId)) ?? NONE;
    return secrets.map(({ name, description }) => ({ name, description }));
  }

  /** null = there is none of this name. */
  async value(userId: string, name: string): Promise<Secret | null> {
    const { secrets } = (await this.#documents.read(userId)) ?? NONE;
    const found = secrets.find((one) => one.name === name);
    return found === undefined ? null : new Secret(found.value);
  }

  /** @param existing what to do when there is one of this name. @throws Refusal 400 (exists), 409 (too many), 422 */
  async save(userId: string, sent: NewSecret, existing: 'replace' | 'refuse'): Promise<void> {
    checkName(sent.name);
    checkValue(sent.value);
    checkDescription(sent.description);
    await this.#documents.change(userId, (old) => {
      const { secrets } = old ?? NONE;
      const before = secrets.find(({ name }) => name === sent.name);
      if (before !== undefined && existing === 'refuse') throw taken(sent.name);
      if (before === undefined && secrets.length >= MAX_SECRETS)
        throw refuse(409, `Secret limit reached (${MAX_SECRETS}). Delete a secret before saving a new one.`);
      const description = sent.description === undefined ? (before?.description ?? null) : sent.description;
      const stored = { name: sent.name, description, value: sent.value };
      const others = secrets.map((one) => (one === before ? stored : one));
      return { next: { secrets: before === undefined ? [...others, stored] : others }, result: null };
    });
  }

  /** Another name or description; the value stays. @throws Refusal 400 (the name is taken), 404, 422 */
  async update(userId: string, name: string, sent: Omit<NewSecret, 'value'>): Promise<void> {
    checkName(sent.name);
    checkDescription(sent.description);
    await this.#documents.change(userId, (old) => {
      const { secrets } = old ?? NONE;
      const before = secrets.find((one) => one.name === name);
      if (before === undefined) throw unknown(name);
      if (sent.name !== name && secrets.some((one) => one.name === sent.name)) throw taken(sent.name);
      const description = sent.description === undefined ? before.description : sent.description;
      const next = { name: sent.name, description, value: before.value };
      return { next: { secrets: secrets.map((one) => (one === before ? next : one)) }, result: null };
    });
  }

  /** @throws Refusal 404 */
  async remove(userId: string, name: string): Promise<void> {
    await this.#documents.change(userId, (old) => {
      const { secrets } = old ?? NONE;
      const rest = secrets.filter((one) => one.name !== name);
      if (rest.length === secrets.length) throw unknown(name);
      return { next: { secrets: rest }, result: null };
    });
  }
}

const NONE: SecretsDocument = { secrets: [] };

function checkName(name: string): void {
  if (NAME.test(name)) return;
  const rule = 'a name is a letter and up to 63 letters, digits and underscores';
  throw invalidValue(['body', 'name'], rule);
}

function checkValue(value: string): void {
  const loc = ['body', 'value'];
  if (value.trim() === '') throw invalidValue(loc, 'a secret must not be empty');
  if (value === MASK) throw invalidValue(loc, 'this is what stands in place of a secret, not a secret');
  if (value.includes('\0')) throw invalidValue(loc, 'the input must not hold a NUL character');
  if (Buffer.byteLength(value) > VALUE_BYTES)
    throw invalidValue(loc, `a secret has at most ${VALUE_BYTES} bytes`);
}

function checkDescription(description: string | null | undefined): void {
  if ((description?.length ?? 0) > DESCRIPTION_CHARS)
    throw invalidValue(['body', 'description'], `a description has at most ${DESCRIPTION_CHARS} characters`);
}

const taken = (name: string): Error => refuse(400, `Secret '${name}' already exists`);
const unknown = (name: string): Error => refuse(404, `Secret '${name.slice(0, 64)}' not found`);
