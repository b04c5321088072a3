// Keeps the number of a label's values bounded: the first ones stand for themselves, further ones are counted together.
// Values come from the configuration and from the objects that administrators make, never from a request.

/** What further values are counted as. */
export const OTHER = 'other';
/** As `general_settings.max_metric_label_values` has it when nobody set it. */
const DEFAULT_MOST = 100;

export class LabelValues {
  readonly #teams = new Set<string>();
  readonly #gateways = new Set<string>();
  #most = DEFAULT_MOST;

  /** A lower limit takes no value away that was given: a counter that ends looks like a restart. */
  limit(most: number): void {
    this.#most = most;
  }

  team(id: string | null): string {
    if (id === null || id === '') return '';
    if (this.#teams.has(id)) return id;
    if (this.#teams.size >= this.#most) return OTHER;
    this.#teams.add(id);
    return id;
  }

  /** Host and port of an address: its path, user and query say nothing that a label should. */
  gateway(apiBase: string): string {
    if (apiBase === '') return '';
    const host = hostOf(apiBase);
    if (this.#gateways.has(host)) return host;
    if (this.#gateways.size >= this.#most) return OTHER;
    this.#gateways.add(host);
    return host;
  }
}

function hostOf(address: string): string {
  return URL.canParse(address) ? new URL(address).host : OTHER;
}
