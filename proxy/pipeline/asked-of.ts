// What a call asks of one deployment: what its client says, with what the entry of the deployment states. Budgets and limits
// hold room for it, and its price follows from it.
import { memberNamed } from '../bodies/members.ts';
import type { Endpoint } from '../protocols/protocol.ts';
import { tierOf } from './billable-units.ts';
import { choicesOf, maxOutputOf, type ParsedRequest } from './parse-request.ts';
import type { SelectedDeployment } from './select-deployment.ts';
import { settingsAt, takesStated } from './stated-members.ts';

/** As `ParsedRequest` has them. */
export type Asked = Pick<ParsedRequest, 'maxOutput' | 'choices' | 'isSingle'>;

export function askedOf(request: ParsedRequest, selected: SelectedDeployment): Asked {
  const stated = statedAt(request.endpoint, selected);
  if (stated === null) return request;
  const { endpoint, maxOutput, choices, isSingle } = request;
  // A limit of `null` is the client's own as well, and is none.
  const limit = request.statesMaxOutput ? maxOutput : maxOutputOf(endpoint, stated.settings);
  const limits = [limit, maxOutputOf(endpoint, stated.extra)];
  const known = limits.filter((limit) => limit !== null);
  // Prompts, each with so many answers.
  const ofEntry = statesChoices(request) ? 1 : choicesOf(endpoint, stated.settings);
  const ofExtra = choicesOf(endpoint, stated.extra);
  return {
    // Of two names of a limit nobody knows which one is read.
    maxOutput: known.length === 0 ? null : Math.max(...known),
    choices: Math.max(choices * ofEntry, ofExtra),
    isSingle: isSingle && ofEntry === 1 && ofExtra === 1,
  };
}

/** The tier that a call is charged by where its upstream states none. @param asked by the client; null = none */
export function tierAsked(
  endpoint: Endpoint,
  selected: SelectedDeployment,
  asked: string | null,
): string | null {
  const stated = statedAt(endpoint, selected);
  if (stated === null) return asked;
  return tierOf(endpoint, stated.extra) ?? asked ?? tierOf(endpoint, stated.settings);
}

interface Stated {
  readonly settings: ReadonlyMap<string, unknown>;
  readonly extra: ReadonlyMap<string, unknown>;
}

function statedAt(endpoint: Endpoint, { deployment, upstreamModel }: SelectedDeployment): Stated | null {
  const { stated } = deployment;
  if (stated === null || !takesStated(endpoint)) return null;
  const settings = settingsAt(stated, endpoint, upstreamModel, null);
  return { settings: new Map(Object.entries(settings)), extra: stated.extraValues };
}

const statesChoices = ({ members }: ParsedRequest): boolean =>
  members.kind === 'form' || memberNamed(members.peeked, 'n') !== undefined;
