// Reads what the proxy acts on from a request body: model, stream, identity, and the byte offsets of those members. Nothing
// else of the body is built; it is only checked for validity.
import { Buffer } from 'node:buffer';
import { setImmediate } from 'node:timers/promises';
import { pathOf } from '../../config/resolve/gateways/parameters.ts';
import type { RequestBody } from '../bodies/request-body.ts';
import type { FaultCode } from '../errors/codes.ts';
import { Fault } from '../errors/fault.ts';
import { readParameters } from '../bodies/disposition.ts';
import { asObject, isObject, type Json } from '../bodies/json.ts';
import { boundaryOf, peekMultipartInSlices, type PeekedForm } from '../bodies/multipart.ts';
import { peekInSlices } from '../bodies/peek.ts';
import {
  memberNamed,
  readJson,
  readString,
  statesValue,
  type Bounds,
  type Peeked,
  type PeekedBody,
  type PeekFault,
  type PeekFaultKind,
} from '../bodies/members.ts';
import {
  steeringMembers,
  type ScanLimits,
  type SteeringMember,
  type TopLevelMember,
} from '../bodies/steering.ts';
import type { LiveDeployment } from '../active-config/active-config.ts';
import type { ReadMembers } from '../active-config/read-members.ts';
import { missingMember } from '../protocols/needs.ts';
import type { Endpoint } from '../protocols/protocol.ts';
import type { Exchange } from './exchange.ts';
import type { IdentityMembers } from './identity.ts';
import { billableUnitsOf, type BillableUnits } from './billable-units.ts';

/** Where the members stand in the body, as the client sent it: JSON or a form. */
type RequestMembers =
  | { readonly kind: 'json'; readonly peeked: PeekedBody }
  | { readonly kind: 'form'; readonly peeked: PeekedForm };

/** What the proxy acts on of one request. The body itself stays as it came. */
export interface ParsedRequest {
  readonly endpoint: Endpoint;
  /** The requested model name: in the path, else in the body. */
  readonly model: string;
  /** The same as the client wrote it, where `model` became the name that is served for it. */
  readonly asked: string;
  /** The deployment that it is for alone, where it named one by its id. */
  readonly only?: LiveDeployment;
  /** What the client states as `fallbacks`. */
  readonly fallbacks?: unknown;
  /** Names of it that count here in place of the configuration's; absent: none do. */
  readonly ownFallbacks?: readonly string[];
  /** The body's own `model`; null when only the path names one. */
  readonly bodyModel: string | null;
  readonly stream: boolean;
  /** The upstream goes on with the answer when its stream ends early. */
  readonly isBackground: boolean;
  /** The stored response that the call continues; null: none. */
  readonly previousResponse: string | null;
  /** One choice is requested (`n` is 1 or absent), for one prompt. */
  readonly isSingle: boolean;
  /** Answers that are asked for: `n` for each prompt, and at least 1. */
  readonly choices: number;
  /** The longest answer that is asked for, tokens: `max_tokens` or one of its other names; null = not stated. */
  readonly maxOutput: number | null;
  /** It states one of those names, `null` included. */
  readonly statesMaxOutput: boolean;
  /** `stream_options` as parsed; null when absent. */
  readonly streamOptions: Json | null;
  /** What the body states about identity. */
  readonly identityMembers: IdentityMembers;
  readonly billable: BillableUnits;
  /** Members that steer one of the gateways of the configuration; `steering.ts` judges them. */
  readonly steering: readonly SteeringMember[];
  readonly members: RequestMembers;
  readonly body: RequestBody;
}

const MODEL_CHARS = 512;
const UTF8 = /^(?:utf-?8|us-ascii)$/i;

/** At the top level of a body; requests of agents have about 20. */
const MOST_MEMBERS = 10_000;
const MOST_NAME_BYTES = 1_024;
/** Of all members that are read, together. The values of OpenAI's `metadata` come to 8 KiB. */
const MOST_READ_BYTES = 262_144;
/** Of every body, whether it goes upstream or is one of a route of the proxy's own. */
export const BODY_BOUNDS: Bounds = { members: MOST_MEMBERS, nameBytes: MOST_NAME_BYTES };

/**
 * Reads the body of a call that names a model. A large one is scanned in slices, between which other requests are served.
 * @throws Fault of the body and member codes.
 */
export async function parseRequest(
  x: Exchange,
  endpoint: Endpoint,
  body: RequestBody,
  pathModel: string | null,
): Promise<ParsedRequest> {
  const { bytes } = body;
  const { jsonDepth: maxDepth } = x.active.snapshot.limits;
  const limits: ScanLimits = { maxDepth, bounds: BODY_BOUNDS, turn: setImmediate };
  const found = await membersOf(x, endpoint, bytes, limits);
  for (const { name } of found.kind === 'json' ? found.peeked.members : found.peeked.fields) {
    if (x.active.readMembers.isTwin(name)) {
      const text = `\`${name}\` is another spelling of \`${pathOf(name)[0]}\`; two parsers could disagree about it.`;
      throw new Fault('duplicate_member', text, { param: name });
    }
  }
  const isRead = readOf(x, endpoint);
  const members =
    found.kind === 'json' ? jsonMembers(bytes, found.peeked, isRead) : formMembers(found.peeked, isRead);
  const bodyModel = modelOf(members.get('model'));
  const model = pathModel ?? bodyModel;
  if (model === null) {
    throw new Fault('missing_model', 'The request names no model. GET /v1/models lists the names.', {
      param: 'model',
    });
  }
  const prompts = promptsOf(endpoint, found, bytes);
  const maxOutput = maxOutputOf(endpoint, members);
  return {
    endpoint,
    model,
    asked: model,
    fallbacks: members.get('fallbacks'),
    bodyModel,
    stream:
      endpoint.streams === undefined
        ? streamOf(members.get('stream'), found.kind)
        : endpoint.streams === 'always',
    isBackground: isBackground(endpoint, members),
    previousResponse: previousResponseOf(members.get('previous_response_id')),
    isSingle: prompts === 1 && isSingle(endpoint, members),
    choices: prompts * choicesOf(endpoint, members),
    maxOutput,
    statesMaxOutput: maxOutput !== null || statesMaxOutput(endpoint, members),
    streamOptions: asObject(members.get('stream_options')),
    identityMembers: identityMembers(members, x.active.readMembers),
    billable: billableUnitsOf(endpoint, members),
    steering: await steeringOf(x, found, bytes, limits),
    members: found,
    body,
  };
}

/** Whether a call has what its endpoint works on. @throws Fault missing_parameter */
export function checkComplete({ endpoint, members, body }: ParsedRequest): void {
  if (members.kind === 'form') return; // files are no fields
  const missing = missingMember(endpoint.path, (name) => {
    const member = memberNamed(members.peeked, name);
    return member !== undefined && statesValue(body.bytes, member);
  });
  if (missing === null) return;
  throw new Fault('missing_parameter', `Missing required parameter: '${missing}'.`, { param: missing });
}

const isBackground = ({ protocol: { backgroundFlag } }: Endpoint, members: Members): boolean =>
  backgroundFlag !== undefined && members.get(backgroundFlag) === true;

/** Of several, the largest: nobody knows which one an upstream reads. */
export function maxOutputOf({ protocol: { outputLimits = [] } }: Endpoint, members: Members): number | null {
  let most: number | null = null;
  for (const name of outputLimits) {
    const count = countIn(members, name);
    if (count !== null) most = Math.max(most ?? 0, count);
  }
  return most;
}

const statesMaxOutput = ({ protocol: { outputLimits = [] } }: Endpoint, members: Members): boolean =>
  outputLimits.some((name) => memberAt(members, name) !== undefined);

/** For each prompt. */
export function choicesOf({ protocol: { choiceCounts = [] } }: Endpoint, members: Members): number {
  let most = Math.max(1, countIn(members, 'n') ?? 1, countIn(members, 'best_of') ?? 1);
  for (const name of choiceCounts) most = Math.max(most, countIn(members, name) ?? 1);
  return most;
}

/** Of one body. Each gets an answer of its own, whose cost and tokens are reserved before the call. */
const MOST_PROMPTS = 2_048;

/** How many prompts one body has. A list of numbers is one, in tokens. @throws Fault invalid_member */
function promptsOf({ protocol: { promptList } }: Endpoint, found: RequestMembers, bytes: Buffer): number {
  if (promptList === undefined || found.kind === 'form') return 1;
  const member = memberNamed(found.peeked, promptList);
  if (member === undefined || bytes[member.valueStart] !== BRACKET) return 1;
  const list = readJson(bytes, member);
  if (!Array.isArray(list) || typeof list[0] === 'number') return 1;
  if (list.length > MOST_PROMPTS) {
    const text = `\`${promptList}\` has ${list.length} prompts, and may have ${MOST_PROMPTS}: send them in several calls.`;
    throw new Fault('invalid_member', text, { param: promptList });
  }
  return Math.max(1, list.length);
}

/** Where a list begins. */
const BRACKET = 0x5b;

const isSingle = ({ protocol: { choiceCounts = [] } }: Endpoint, members: Members): boolean =>
  (members.get('n') ?? 1) === 1 && choiceCounts.every((name) => (memberAt(members, name) ?? 1) === 1);

/** @param name of a member, or dotted, of one in an object */
function memberAt(members: Members, name: string): unknown {
  if (!name.includes('.')) return members.get(name);
  const [first = name, ...below] = name.split('.');
  return below.reduce<unknown>(
    (holder, one) => (isObject(holder) ? holder[one] : undefined),
    members.get(first),
  );
}

/** null: it states none. */
function countIn(members: Members, name: string): number | null {
  const value = memberAt(members, name);
  const count = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof count === 'number' && Number.isFinite(count) && count > 0 ? Math.ceil(count) : null;
}

const identityMembers = (members: Members, { ofDialect }: ReadMembers): IdentityMembers => ({
  user: members.get('user'),
  safetyIdentifier: members.get('safety_identifier'),
  brandSession: members.get(ofDialect.session),
  brandTrace: members.get(ofDialect.trace),
  metadata: members.get('metadata'),
  brandMetadata: members.get(ofDialect.metadata),
  tags: members.get('tags'),
});

/** Whether the value of a member is read. Only speech is priced by its text. */
function readOf({ active }: Exchange, { pricedBy }: Endpoint): (name: string) => boolean {
  const { names } = active.readMembers;
  return pricedBy === 'characters'
    ? (name) => name === 'input' || names.has(name)
    : (name) => names.has(name);
}

function steeringOf(
  { active }: Exchange,
  found: RequestMembers,
  bytes: Buffer,
  limits: ScanLimits,
): readonly SteeringMember[] | Promise<readonly SteeringMember[]> {
  const { steeringTables: tables, readMembers } = active;
  const members =
    found.kind === 'json'
      ? found.peeked.members
          .filter(({ name }) => readMembers.maySteer(name))
          .map(({ name, valueStart, valueEnd }) => ({ name, value: bytes.subarray(valueStart, valueEnd) }))
      : found.peeked.fields.filter(({ name }) => readMembers.maySteer(name)).map(fieldOf);
  return members.length === 0 ? NO_STEERING : steeringMembers(members, tables, limits);
}

const NO_STEERING: readonly SteeringMember[] = Object.freeze([]);

/** A field is text: it is an object when it looks like one. */
function fieldOf({ name, value }: { readonly name: string; readonly value: string }): TopLevelMember {
  const text = value.trimStart();
  return { name, value: Buffer.from(text.startsWith('{') ? text : '') };
}

function membersOf(
  x: Exchange,
  endpoint: Endpoint,
  bytes: Buffer,
  limits: ScanLimits,
): RequestMembers | Promise<RequestMembers> {
  const { wanted: always } = x.active.readMembers;
  const wanted =
    endpoint.pricedBy === 'characters' ? { ...always, names: new Set([...always.names, 'input']) } : always;
  const type = x.headers.contentType ?? JSON_TYPE;
  const media = type === JSON_TYPE ? type : (type.split(';', 1)[0]?.trim().toLowerCase() ?? '');
  if (media === 'multipart/form-data' && endpoint.body === 'form') {
    const boundary = boundaryOf(type);
    if (boundary === null)
      throw new Fault('bad_multipart', 'The multipart content type names no valid boundary.');
    return peekMultipartInSlices(bytes, boundary, wanted, limits.turn).then(inForm);
  }
  // An upstream that honours a charset such as UTF-7 would read other members than the proxy did.
  if (
    type !== JSON_TYPE &&
    /charset/i.test(type) &&
    !UTF8.test(readParameters(type)?.parameters.get('charset') ?? '')
  ) {
    throw new Fault('unsupported_media_type', 'JSON is taken in UTF-8 only (RFC 8259 section 8.1).');
  }
  if (!media.endsWith('json')) {
    const taken = endpoint.body === 'form' ? 'application/json or multipart/form-data' : 'application/json';
    throw new Fault('unsupported_media_type', `This endpoint takes ${taken}, not ${media.slice(0, 60)}.`);
  }
  const peeked = peekInSlices(bytes, wanted, limits.maxDepth, limits.bounds, limits.turn);
  return peeked instanceof Promise ? peeked.then(inJson) : inJson(peeked);
}

function inForm(peeked: Awaited<ReturnType<typeof peekMultipartInSlices>>): RequestMembers {
  if (peeked.ok) return { kind: 'form', peeked };
  const code = peeked.fault === 'duplicate_member' ? 'duplicate_member' : 'bad_multipart';
  throw new Fault(code, peeked.detail);
}

function inJson(peeked: Peeked): RequestMembers {
  if (peeked.ok) return { kind: 'json', peeked };
  throw bodyFault(peeked);
}

/** What a client is told of a body that cannot be read. @param within the member that the fault is in; '' = the body itself */
export const bodyFault = ({ fault, detail, name }: PeekFault, within = ''): Fault =>
  new Fault(PEEK_CODES[fault], detail, name === undefined ? {} : { param: `${within}${name}` });

const JSON_TYPE = 'application/json';

const PEEK_CODES: Readonly<Record<PeekFaultKind, FaultCode>> = {
  duplicate_member: 'duplicate_member',
  invalid_utf8: 'body_not_utf8',
  not_object: 'body_not_object',
  too_deep: 'body_too_deep',
  too_complex: 'body_too_complex',
  not_json: 'body_not_json',
};

type Members = ReadonlyMap<string, unknown>;

/** Strings are decoded directly, other values are parsed: those that are read are small. @throws Fault body_too_complex */
function jsonMembers(bytes: Buffer, peeked: PeekedBody, isRead: (name: string) => boolean): Members {
  const members = new Map<string, unknown>();
  let size = 0;
  for (const member of peeked.members) {
    if (!isRead(member.name)) continue;
    size += member.valueEnd - member.valueStart;
    if (size > MOST_READ_BYTES) throw tooLarge(member.name);
    members.set(member.name, readString(bytes, member) ?? readJson(bytes, member));
  }
  return members;
}

function formMembers(peeked: PeekedForm, isRead: (name: string) => boolean): Members {
  const members = new Map<string, unknown>();
  let size = 0;
  for (const { name, value } of peeked.fields) {
    if (!isRead(name)) continue;
    size += value.length;
    if (size > MOST_READ_BYTES) throw tooLarge(name);
    members.set(name, value);
  }
  return members;
}

function tooLarge(name: string): Fault {
  const text = `With \`${name}\`, the members that the proxy reads are longer than ${MOST_READ_BYTES} bytes together.`;
  return new Fault('body_too_complex', text, { param: name });
}

function modelOf(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== 'string')
    throw new Fault('invalid_member', '`model` must be text.', { param: 'model' });
  if (value === '') return null;
  if (value.length > MODEL_CHARS) {
    throw new Fault('invalid_member', `\`model\` is longer than ${MODEL_CHARS} characters.`, {
      param: 'model',
    });
  }
  return value;
}

function previousResponseOf(value: unknown): string | null {
  if (value === undefined || value === null || typeof value === 'string') return value ?? null;
  const text = '`previous_response_id` must be text.';
  throw new Fault('invalid_member', text, { param: 'previous_response_id' });
}

function streamOf(value: unknown, kind: RequestMembers['kind']): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value === 'boolean') return value;
  if (kind === 'form' && typeof value === 'string') return /^(true|1)$/i.test(value);
  throw new Fault('invalid_member', '`stream` must be true or false.', { param: 'stream' });
}
