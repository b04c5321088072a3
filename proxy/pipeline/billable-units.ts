// The billable units that a request itself states: number of images or characters, service tier. Pure. Read only for the
// endpoints that are priced by them.
import type { Units } from '../protocols/usage.ts';
import { peek, readString, type Wanted } from '../bodies/peek.ts';
import type { Endpoint } from '../protocols/protocol.ts';

/** What is charged beside the tokens of the response. */
export interface BillableUnits {
  readonly units: Units;
  /** The requested tier; the one that the response states wins. */
  readonly serviceTier: string | null;
}

export const NO_BILLABLE_UNITS: BillableUnits = Object.freeze({
  units: Object.freeze({}),
  serviceTier: null,
});

const MOST_IMAGES = 1_000;
/** Only speech is priced by its text; the general scan does not look at texts of any length. */
const INPUT: Wanted = { names: new Set(['input']), prefixes: [] };
const DEEPEST = 512;
const TIER = /^[a-z_]{1,32}$/;

/**
 * @param members the marked members of the body, `n` and `service_tier` among them
 * @param json the body; null when it is a form
 */
export function billableUnitsOf(
  endpoint: Endpoint,
  members: ReadonlyMap<string, unknown>,
  json: Buffer | null,
): BillableUnits {
  const tier = members.get('service_tier');
  return {
    units: unitsOf(endpoint, members, json),
    serviceTier: typeof tier === 'string' && TIER.test(tier) ? tier : null,
  };
}

function unitsOf(endpoint: Endpoint, members: ReadonlyMap<string, unknown>, json: Buffer | null): Units {
  switch (endpoint.pricedBy) {
    case 'images': {
      const images = Number(members.get('n') ?? 1);
      return Number.isInteger(images) && images >= 1 && images <= MOST_IMAGES ? { images } : {};
    }
    case 'characters': {
      const found = json === null ? undefined : peek(json, INPUT, DEEPEST).members[0];
      const text = json === null || found === undefined ? undefined : readString(json, found);
      return text === undefined ? {} : { characters: Array.from(text).length }; // characters, not UTF-16 units
    }
    default:
      return {};
  }
}
