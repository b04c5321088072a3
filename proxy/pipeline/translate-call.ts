// A call in another protocol than its caller's: the request as it goes upstream. The translation itself stands in
// protocols/translation/; here it meets the rules that hold for every body.
import { Buffer } from 'node:buffer';
import { exactObject, textIn, type Json } from '../bodies/json.ts';
import { MOST_BUILT_VALUES, type PeekedBody } from '../bodies/members.ts';
import { peek } from '../bodies/peek.ts';
import { RequestBody } from '../bodies/request-body.ts';
import type { Cut } from '../bodies/splice.ts';
import { maySteer } from '../bodies/steering.ts';
import type { LiveDeployment } from '../active-config/active-config.ts';
import { isControlMember } from '../active-config/read-members.ts';
import { Fault } from '../errors/fault.ts';
import type { Endpoint, Protocol } from '../protocols/protocol.ts';
import { withoutForeignSignatures } from '../protocols/translation/foreign-signatures.ts';
import {
  settingsBeyond,
  speaksAsEntries,
  statedLimit,
  withSettings,
} from '../protocols/translation/stated-settings.ts';
import { translate, type Translation } from '../protocols/translation/translation.ts';
import type { Exchange } from './exchange.ts';
import type { Identity } from './identity.ts';
import type { ParsedRequest } from './parse-request.ts';
import { outputLimit } from './output-limit.ts';
import type { SelectedDeployment } from './select-deployment.ts';

/** A translated call, before the changes that every body gets. */
export interface TranslatedCall {
  /** Of the upstream: endpoint, members and body of the translation. */
  readonly request: ParsedRequest;
  readonly translation: Translation;
  /** Members of the translated body that do not go. */
  readonly unwanted: readonly string[];
  /** Settings of the entry that it lacks yet; null = it has none of them. */
  readonly settingsLeft: Json | null;
}

/** A translation that was made to find out whether its deployment takes the call. Its body serves one attempt. */
export interface Translated {
  readonly deployment: LiveDeployment;
  readonly to: Protocol;
  /** null: the call goes as it is. */
  readonly call: TranslatedCall | null;
}

/** The upstream, and the protocol in which it is asked. */
interface Destination {
  readonly selected: SelectedDeployment;
  readonly to: Protocol;
}

/** Where neither call nor model says how long an answer may be, and the protocol wants to know; as LiteLLM has it. */
const DEFAULT_MAX_TOKENS = 4_096;

/**
 * The call in the protocol of its upstream; null where there is no translation, so that it goes as it is.
 * @param cuts further changes to the client's body
 * @throws Fault of what cannot be translated
 */
export function translateCall(
  x: Exchange,
  request: ParsedRequest,
  identity: Pick<Identity, 'sessionId' | 'sessionSource'>,
  { selected, to }: Destination,
  cuts: readonly Cut[],
): TranslatedCall | null {
  if (request.members.kind === 'form') return null;
  const { config } = selected.deployment;
  const { upstreamModel } = selected;
  const from = request.endpoint.protocol;
  const settings = config.statedMembers?.settings ?? null;
  const hasSettings = settings !== null && speaksAsEntries(from);
  const stated = withoutControls(x, jsonOf(x, request, cuts));
  const json = hasSettings ? withSettings(from, to, stated, settings, upstreamModel) : stated;
  const translation = translate(request.endpoint, to, json, {
    model: upstreamModel,
    baseModel: textIn(config.statedInfo, 'base_model'),
    asked: request.asked,
    stream: request.stream,
    dropParams: config.dropParams,
    defaultMaxTokens: (settings && statedLimit(settings)) ?? outputLimit(x, selected) ?? DEFAULT_MAX_TOKENS,
    // Where nothing of the client's is forwarded, its session is nobody's to know.
    sessionId: selected.forwards && identity.sessionSource !== 'generated' ? identity.sessionId : null,
  });
  if (translation === null) return null;
  const peeked = membersOf(x, translation.body);
  const endpoint = endpointOf(translation.endpoint, request.stream);
  return {
    request: {
      ...request,
      endpoint,
      bodyModel: endpoint.path.includes('{model}') ? null : upstreamModel,
      streamOptions: null,
      members: { kind: 'json', peeked },
      body: new RequestBody(translation.body),
    },
    translation,
    unwanted: unwantedOf(x, peeked, request.members.peeked),
    settingsLeft: hasSettings ? settingsBeyond(to, stated, settings) : null,
  };
}

/** What the client wrote under a name was judged; what the translation made of something else was not. */
function unwantedOf({ active }: Exchange, translated: PeekedBody, client: PeekedBody): readonly string[] {
  const { steeringTables, snapshot } = active;
  const own = new Set(client.members.map(({ name }) => name));
  const isUnwanted = (name: string): boolean =>
    name === 'stream_options'
      ? snapshot.alwaysIncludeStreamUsage === false
      : !own.has(name) && maySteer(steeringTables, name);
  return translated.members.map(({ name }) => name).filter(isUnwanted);
}

/**
 * A request that goes in its own protocol, without the signatures of thoughts that an upstream of another one made: a conversation
 * that was translated for a while, by this server or another one, holds them. null: it has none, as nearly all; then it goes as it is.
 * So does one that holds more than is built for any call: what only looks like a signature must not be why it is refused.
 */
export function withOwnSignatures(
  x: Exchange,
  request: ParsedRequest,
  { upstreamModel }: SelectedDeployment,
  cuts: readonly Cut[],
): ParsedRequest | null {
  const { members, endpoint } = request;
  if (members.kind === 'form' || !members.peeked.hasText || isTooComplex(members.peeked)) return null;
  const json = jsonOf(x, request, cuts);
  const own = withoutForeignSignatures(endpoint.protocol, json, upstreamModel);
  if (own === json) return null;
  const body = Buffer.from(JSON.stringify(own));
  return {
    ...request,
    members: { kind: 'json', peeked: membersOf(x, body) },
    body: new RequestBody(body),
  };
}

/** @throws Fault body_too_deep: arguments of tool calls that were a text are objects now */
function membersOf({ active: { readMembers, snapshot } }: Exchange, body: Buffer): PeekedBody {
  const { jsonDepth } = snapshot.limits;
  const peeked = peek(body, readMembers.wanted, jsonDepth);
  if (!peeked.ok && peeked.fault === 'too_deep')
    throw new Fault(
      'body_too_deep',
      `The body nests deeper than ${jsonDepth} levels in the form of its upstream, which holds the arguments of tool calls as objects.`,
    );
  if (!peeked.ok) throw new Error(`a body that was written here is not sound: ${peeked.detail}`);
  return peeked;
}

/** What the proxy itself reads of a request is not lost with a translation. `metadata` is a member of the APIs, too. */
function withoutControls({ active: { snapshot } }: Exchange, json: Json): Json {
  const { brand } = snapshot.dialect;
  const kept = Object.entries(json).filter(([name]) => name === 'metadata' || !isControlMember(name, brand));
  return kept.length === Object.keys(json).length ? json : Object.fromEntries(kept);
}

const isTooComplex = ({ values }: PeekedBody): boolean => values > MOST_BUILT_VALUES;

/** The client's body with `cuts`; the body is left as it was. @throws Fault body_too_complex */
function jsonOf(x: Exchange, request: ParsedRequest, cuts: readonly Cut[]): Json {
  const { body, endpoint, stream, members } = request;
  if (members.kind === 'json' && isTooComplex(members.peeked)) {
    const text = `The body holds ${members.peeked.values} values; one that is written anew for its model has at most ${MOST_BUILT_VALUES}.`;
    throw new Fault('body_too_complex', text);
  }
  body.edit(cuts);
  const json = exactObject(body.bytes.toString('utf8'));
  body.restore();
  if (json === null) throw new Fault('body_not_object', 'The body must be a JSON object.');
  // Clients that are to get the usage whether they ask or not get it from a translation that asks.
  if (!stream || !endpoint.usageOnRequest || x.active.snapshot.alwaysIncludeStreamUsage !== true) return json;
  const options = typeof json['stream_options'] === 'object' ? json['stream_options'] : {};
  return { ...json, stream_options: { ...options, include_usage: true } };
}

/** Where the path says whether the answer streams, the endpoint that does. */
function endpointOf(endpoint: Endpoint, stream: boolean): Endpoint {
  if (endpoint.streams === undefined) return endpoint;
  const wanted = stream ? 'always' : 'never';
  const { protocol } = endpoint;
  const row = protocol.endpoints.find(
    ({ streams, counted }) => streams === wanted && counted === 'prompt and answer',
  );
  return row === undefined ? endpoint : { ...row, protocol };
}
