// In which protocol a call goes to a deployment: the caller's where its gateway speaks that, else one that it does speak.
// Where the configuration does not say which (`supported_endpoints`), the caller's is tried, and the deployment remembered
// as not serving it when the gateway answers that there is no such endpoint.
//
// The status alone does not tell: an unknown model is a 404 too. So an answer counts as "no such endpoint" only when it is a
// 405, a 404 that speaks neither of a model nor of a deployment, or what some gateways say of a provider that lacks the API;
// and what was found is forgotten at once when the translated call meets the same answer: then it was not the protocol.
import { servesFor } from '../../config/resolve/serves.ts';
import type { LiveDeployment } from '../active-config/active-config.ts';
import { Fault } from '../errors/fault.ts';
import type { Outcome } from '../relay/outcome.ts';
import type { UpstreamRequest } from '../relay/upstream-request.ts';
import type { Endpoint, Protocol } from '../protocols/protocol.ts';
import { protocolNamed } from '../protocols/table.ts';
import type { Exchange } from './exchange.ts';
import type { SelectedDeployment } from './select-deployment.ts';

/** Protocols between which calls are translated; those that most gateways speak go first. */
const TRANSLATED: readonly string[] = ['chat', 'messages', 'responses', 'gemini'];
/** What a gateway speaks of which nothing else is known: a call in this protocol is never taken for one that it lacks. */
const COMMON = 'chat';
const OTHERS: readonly string[] = TRANSLATED.filter((name) => name !== COMMON);

const LONGEST_ERROR = 65_536;
/**
 * Gateways whose route is there, and which cannot say this protocol to the provider behind them: Portkey 1.15
 * (services/transformToProviderRequest) and litellm-rs 0.9 (its router), each with its status and the whole of its words.
 */
const NOT_TO_THIS_PROVIDER: readonly (readonly [status: number, says: RegExp])[] = [
  [500, /^\{"status":"failure","message":"[a-zA-Z]+ is not supported by [\w-]+"\}$/],
  [
    400,
    /"Invalid request for router: Model '[^']*' does not support capability (?:ChatCompletion|Responses)\w*"/,
  ],
];
/** A refusal that has to do with the model that was asked for. Of the words that gateways use for it, one is always there. */
const OF_A_MODEL = /model|deployment|engine|resource/i;

/** A call of a model that writes, in a protocol that can be translated. */
function isTranslatable({ counted, protocol }: Endpoint): boolean {
  return counted === 'prompt and answer' && TRANSLATED.includes(protocol.name);
}

/** What is known of the protocols in which a deployment is asked for the model of a call. */
interface Serving extends Pick<LiveDeployment, 'absent'> {
  /** null = not stated. */
  readonly serves: ReadonlySet<string> | null;
}

export function servingOf({ active }: Exchange, { deployment, upstreamModel }: SelectedDeployment): Serving {
  const { config, absent } = deployment;
  const mode = (): string | undefined => active.services.catalogue.modeOf(config, upstreamModel);
  return { serves: servesFor(config, mode), absent };
}

/**
 * Another protocol than the caller's; null: the call goes as it is.
 * @param mono monotonic ms; most calls need no time
 * @throws Fault endpoint_not_translated
 */
export function otherProtocol(
  { serves, absent }: Serving,
  endpoint: Endpoint,
  mono: () => number,
): Protocol | null {
  const { name } = endpoint.protocol;
  if (serves === null ? absent.isEmpty : serves.has(name)) return null;
  // A list that names none of those that are translated says nothing about them.
  if (endpoint.elsewhere === 'refused' && TRANSLATED.some((one) => serves?.has(one) === true))
    throw notTranslated(endpoint);
  if (!isTranslatable(endpoint)) return null;
  const isServed = (one: string): boolean => serves?.has(one) ?? !absent.has(one, mono());
  if (isServed(name)) return null;
  const other = serves === null ? COMMON : TRANSLATED.find(isServed);
  return other === undefined ? null : protocolNamed(other);
}

function notTranslated({ path, protocol }: Endpoint): Fault {
  const text =
    `The gateway of this model does not speak the API of \`${path}\`, and no other API has anything like it. ` +
    `Ask for a model whose gateway speaks ${protocol.name}.`;
  return new Fault('endpoint_not_translated', text);
}

/** Whether a call that only counts tokens is answered here, because the gateway does not count. */
export function countsHere(
  { serves, absent }: Serving,
  { countAnswer, protocol, path }: Endpoint,
  nowMs: number,
): boolean {
  if (countAnswer === undefined) return false;
  return serves?.has(protocol.name) === false || absent.has(path, nowMs);
}

/** The gateway says that it does not have this endpoint. */
export function saysNoEndpoint(
  { path }: Pick<UpstreamRequest, 'path'>,
  { status, unsent, isStream }: Pick<Outcome, 'status' | 'unsent' | 'isStream'>,
): boolean {
  if (unsent === null || isStream) return false;
  if (status === 405) return true;
  const ofProvider = NOT_TO_THIS_PROVIDER.find(([one]) => one === status)?.[1];
  if (status !== 404 && ofProvider === undefined) return false;
  const body = Buffer.concat(unsent);
  if (body.length > LONGEST_ERROR) return false;
  if (ofProvider !== undefined) return ofProvider.test(body.toString('utf8').trim());
  // Some repeat the path, and Gemini's has the word in it.
  const [plainPath = path] = path.split('?');
  const text = body.toString('utf8').replaceAll(plainPath, '').replaceAll(decodedPath(plainPath), '');
  return !OF_A_MODEL.test(text);
}

/** Whether a deployment may be found not to serve an endpoint: it says nothing of it itself. */
export function mayLack({ serves }: Pick<Serving, 'serves'>, endpoint: Endpoint): boolean {
  if (endpoint.countAnswer !== undefined) return true;
  return serves === null && isTranslatable(endpoint) && OTHERS.includes(endpoint.protocol.name);
}

function decodedPath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
