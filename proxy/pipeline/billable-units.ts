// The billable units that a request itself states: number of images or characters, service tier. Pure. Read only for the
// endpoints that are priced by them.
import { MOST_IMAGES } from '../access/budgets/reservation.ts';
import type { Units } from '../protocols/usage.ts';
import type { Endpoint, Protocol } from '../protocols/protocol.ts';
import { tierWord } from '../protocols/service-tier.ts';

/** What is charged beside the tokens of the response. */
export interface BillableUnits {
  readonly units: Units;
  /** The requested tier; the one that the response states wins. */
  readonly serviceTier: string | null;
}

/** Nothing beside tokens is charged. */
export const NO_BILLABLE_UNITS: BillableUnits = Object.freeze({
  units: Object.freeze({}),
  serviceTier: null,
});

const TIER = /^[a-z_]{1,32}$/;

/** @param members the members of the body that were read */
export function billableUnitsOf(endpoint: Endpoint, members: ReadonlyMap<string, unknown>): BillableUnits {
  return { units: unitsOf(endpoint, members), serviceTier: tierOf(endpoint, members) };
}

/** The tier that members of a request ask for; null = none. */
export function tierOf({ protocol }: Endpoint, members: ReadonlyMap<string, unknown>): string | null {
  const { tierMembers = ['service_tier'] } = protocol;
  const stated = tierMembers.map((name) => members.get(name)).find((value) => typeof value === 'string');
  const tier = stated === undefined ? null : tierWord(stated);
  return tier !== null && TIER.test(tier) ? tier : null;
}

/** Of a call that goes upstream in `spoken`: a translation leaves the tier out, so nothing is charged by it. @param tier that is asked for */
export function billableIn(
  spoken: Protocol,
  asked: Endpoint,
  billable: BillableUnits,
  tier: string | null,
): BillableUnits {
  const serviceTier = spoken === asked.protocol ? tier : null;
  return serviceTier === billable.serviceTier ? billable : { ...billable, serviceTier };
}

function unitsOf(endpoint: Endpoint, members: ReadonlyMap<string, unknown>): Units {
  switch (endpoint.pricedBy) {
    case 'images': {
      const images = Number(members.get('n') ?? 1);
      return Number.isInteger(images) && images >= 1 && images <= MOST_IMAGES ? { images } : {};
    }
    case 'characters': {
      const text = members.get('input');
      return typeof text === 'string' ? { characters: Array.from(text).length } : {}; // not UTF-16 units
    }
    default:
      return {};
  }
}
