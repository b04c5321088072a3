// What an entry states of its requests, ready for calls: read once per configuration, and what its settings come to in a protocol is
// found once per protocol.
import type { Secret } from '../../config/secret.ts';
import type { StatedMembers } from '../../config/stated-members.ts';
import { parseJson, type Json } from '../bodies/json.ts';
import type { Protocol } from '../protocols/protocol.ts';
import { settingsIn } from '../protocols/translation/stated-settings.ts';

/** Clients choose limits of answers, and names below a wildcard: so many findings are remembered. */
const MOST_KNOWN = 64;

export class StatedByEntry {
  /** Names, and values as JSON text. */
  readonly extra: readonly (readonly [name: string, json: Secret])[];
  /** The same, built: what counts for reservations and prices is read from it. */
  readonly #values: ReadonlyMap<string, unknown>; // may hold secrets, so nothing prints it
  readonly #settings: Json;
  readonly #known = new Map<string, Json>();

  constructor({ settings, extra }: StatedMembers) {
    this.#settings = settings;
    this.extra = extra;
    this.#values = new Map(extra.map(([name, json]) => [name, parseJson(json.reveal())]));
  }

  get extraValues(): ReadonlyMap<string, unknown> {
    return this.#values;
  }

  /** As `settingsIn` of protocols/translation/stated-settings.ts. */
  settingsIn(protocol: Protocol, model: string, most: number | null): Json {
    const key = `${protocol.name} ${protocol.limitsThoughts === true ? (most ?? '') : ''} ${model}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const said = settingsIn(protocol, this.#settings, model, most);
    if (this.#known.size < MOST_KNOWN) this.#known.set(key, said);
    return said;
  }
}
