// Calls that ask for a fault by name, `chaos/<fault>/<model>`: whose they may be, and the fault that is injected. Everything else of
// such a call is that of a call of the model: access, budgets, limits, spend row. Other calls pass here with one look at their
// model name.
import type { AuthenticatedCaller } from '../access/caller.ts';
import { servedName, type CallerModels } from '../access/model-access.ts';
import type { ActiveConfig } from '../active-config/active-config.ts';
import { ChaosPool } from '../chaos/chaos-pool.ts';
import { CHAOS, CHAOS_FAULTS, chaosNameOf, chaosOf, type Chaos, type ChaosName } from '../chaos/faults.ts';
import { WrongUsage } from '../chaos/wrong-usage.ts';
import { Fault } from '../errors/fault.ts';
import type { ResponseSink } from '../relay/response-sink.ts';
import type { UpstreamRequest } from '../relay/upstream-request.ts';
import { addressed } from './addressed.ts';
import { isListedFor, underServedName } from './models-of-caller.ts';
import type { ParsedRequest } from './parse-request.ts';

/** What a call asks for. */
interface CalledModel {
  /** Under the name that is served: everything after this, the row included, has that one. */
  readonly request: ParsedRequest;
  /** The name that access is checked for, as the caller wrote it. */
  readonly requested: string;
  /** null: no fault. */
  readonly asked: ChaosName | null;
}

/** The model that is called; of a name that asks for a fault, the model behind it. */
export function calledModel(
  active: ActiveConfig,
  caller: AuthenticatedCaller,
  parsed: ParsedRequest,
  models: CallerModels,
): CalledModel {
  const named = underServedName(caller, parsed);
  const asked = named.model.startsWith(CHAOS) ? askedIn(active, named.model) : null;
  if (asked === null) return { request: addressed(active, named, models), requested: parsed.model, asked };
  const model = servedName(caller, asked.model);
  return { request: addressed(active, { ...named, model }, models), requested: asked.model, asked };
}

/** null where the configuration itself serves names that begin like this. */
function askedIn({ groups, snapshot }: ActiveConfig, name: string): ChaosName | null {
  const isServed =
    groups.has(name) ||
    snapshot.routing.aliases.has(name) ||
    snapshot.wildcards.some(({ pattern }) => pattern.startsWith(CHAOS));
  return isServed ? null : chaosNameOf(name);
}

/** Whether a caller may ask for faults. */
function mayAskForChaos({ snapshot }: ActiveConfig, caller: AuthenticatedCaller): boolean {
  const { allowsChaos } = snapshot.access;
  if (allowsChaos === false) return false;
  if (caller.role === 'admin') return allowsChaos === true;
  return caller.role === 'key' && [caller.key.metadata, caller.key.kept['permissions']].some(saysSo);
}

const saysSo = (holder: unknown): boolean =>
  typeof holder === 'object' && holder !== null && 'allow_chaos' in holder && holder.allow_chaos === true;

/**
 * The fault that a name asks for, or why there is none: chaos_denied, unknown_chaos.
 * @param caller null = nobody in particular, who may ask for any
 */
export function chaosFor(
  active: ActiveConfig,
  caller: AuthenticatedCaller | null,
  { fault, model }: ChaosName,
): Chaos | Fault {
  if (caller !== null && !mayAskForChaos(active, caller)) return denied(active, caller);
  const chaos = chaosOf(fault);
  if (typeof chaos === 'string') return new Fault('unknown_chaos', chaos, { param: 'model' });
  if (model !== '') return chaos;
  const text = `\`${CHAOS}${fault}\` names no model: ask for \`${CHAOS}${fault}/<model>\`.`;
  return new Fault('unknown_chaos', text, { param: 'model' });
}

function denied({ snapshot }: ActiveConfig, { role }: AuthenticatedCaller): Fault {
  const why: Readonly<Record<AuthenticatedCaller['role'], string>> = {
    admin: 'general_settings.allow_chaos is not true, so the master key may not ask for faults.',
    key: 'This key may not ask for faults: neither its metadata nor its permissions say `allow_chaos: true`.',
    inference: 'Keys of general_settings.inference_keys may not ask for faults; use a virtual key.',
    session: 'Keys of conversations may not ask for faults; use a virtual key.',
  };
  const isOff = snapshot.access.allowsChaos === false;
  const text = isOff ? 'Nobody may ask for faults: general_settings.allow_chaos is false.' : why[role];
  return new Fault('chaos_denied', text, { param: 'model' });
}

/** The request of an attempt, over connections that have the fault. */
export function withChaos(call: UpstreamRequest, { injection }: Chaos): UpstreamRequest {
  return { ...call, pool: new ChaosPool(call.pool, injection, call.protocol.errors) };
}

/** The client of such an attempt. */
export function sinkWithChaos(sink: ResponseSink, { injection }: Chaos): ResponseSink {
  return injection.is === 'wrong usage' ? new WrongUsage(sink) : sink;
}

/** What the row says of it. */
export const chaosNote = ({ text, means }: Chaos): string => `chaos: the call asked for ${text} (${means})`;

/** Whether such a name leads to a model that the caller's listing has. */
export function isChaosListedFor(active: ActiveConfig, caller: AuthenticatedCaller, name: string): boolean {
  const asked = chaosNameOf(name);
  if (asked === null || !mayAskForChaos(active, caller)) return false;
  return typeof chaosOf(asked.fault) !== 'string' && isListedFor(active, caller, asked.model);
}

/** The names under which a caller may ask for faults of these models. */
export function chaosNames(
  active: ActiveConfig,
  caller: AuthenticatedCaller,
  models: readonly string[],
): readonly string[] {
  if (!mayAskForChaos(active, caller)) return [];
  const faults = Object.keys(CHAOS_FAULTS);
  return models.flatMap((model) => faults.map((fault) => `${CHAOS}${fault}/${model}`));
}
