// Reads what the proxy acts on from a request body: model, stream, identity, and the byte offsets of those members. Nothing
// else of the body is built; it is only checked for validity.
import type { RequestBody } from '../bodies/request-body.ts';
import type { FaultCode } from '../errors/codes.ts';
import { Fault } from '../errors/fault.ts';
import { MODEL_TWINS, UPSTREAM_MEMBERS } from '../active-config/active-config.ts';
import { readParameters } from '../bodies/disposition.ts';
import { boundaryOf, peekMultipart, type PeekedForm } from '../bodies/multipart.ts';
import {
  peek,
  readJson,
  readString,
  type Member,
  type PeekedBody,
  type PeekFaultKind,
} from '../bodies/peek.ts';
import type { Endpoint } from '../protocols/protocol.ts';
import type { Exchange } from './exchange.ts';
import { isObject, type IdentityMembers } from './identity.ts';
import { billableUnitsOf, type BillableUnits } from './billable-units.ts';

/** Where the members stand in the body, as the client sent it: JSON or a form. */
type RequestMembers =
  | { readonly kind: 'json'; readonly peeked: PeekedBody }
  | { readonly kind: 'form'; readonly peeked: PeekedForm };

export interface ParsedRequest {
  readonly endpoint: Endpoint;
  /** The requested model name: in the path, else in the body. */
  readonly model: string;
  /** The body's own `model`; null when only the path names one. */
  readonly bodyModel: string | null;
  readonly stream: boolean;
  /** The stored response that the call continues; null: none. */
  readonly previousResponse: string | null;
  /** One choice is requested (`n` is 1 or absent). */
  readonly isSingle: boolean;
  /** `stream_options` as parsed; null when absent. */
  readonly streamOptions: Readonly<Record<string, unknown>> | null;
  /** What the body states about identity. */
  readonly identityMembers: IdentityMembers;
  readonly billable: BillableUnits;
  readonly members: RequestMembers;
  readonly body: RequestBody;
}

const MODEL_CHARS = 512;
const UTF8 = /^(?:utf-?8|us-ascii)$/i;

/** Reads the body of a call that names a model. @throws Fault of the body and member codes. */
export function parseRequest(
  x: Exchange,
  endpoint: Endpoint,
  body: RequestBody,
  pathModel: string | null,
): ParsedRequest {
  const { bytes } = body;
  const found = membersOf(x, endpoint, bytes);
  const members = found.kind === 'json' ? jsonMembers(bytes, found.peeked) : formMembers(found.peeked);
  for (const name of members.keys()) {
    if (UPSTREAM_MEMBERS.has(name)) {
      throw new Fault(
        'upstream_in_body',
        `\`${name}\` is not taken from a request: upstreams are configured.`,
        {
          param: name,
        },
      );
    }
    if (MODEL_TWINS.has(name)) {
      const text = `\`${name}\` differs from \`model\` in case only; two parsers could disagree about the model.`;
      throw new Fault('duplicate_member', text, { param: name });
    }
  }
  const bodyModel = modelOf(members.get('model'));
  const model = pathModel ?? bodyModel;
  if (model === null) {
    throw new Fault('missing_model', 'The request names no model. GET /v1/models lists the names.', {
      param: 'model',
    });
  }
  const options = members.get('stream_options');
  return {
    endpoint,
    model,
    bodyModel,
    stream: streamOf(members.get('stream'), found.kind),
    previousResponse: previousResponseOf(members.get('previous_response_id')),
    isSingle: (members.get('n') ?? 1) === 1,
    streamOptions: isObject(options) ? options : null,
    identityMembers: identityMembers(members, x.active.snapshot.dialect.brand),
    billable: billableUnitsOf(endpoint, members, found.kind === 'json' ? bytes : null),
    members: found,
    body,
  };
}

const identityMembers = (members: Members, brand: string): IdentityMembers => ({
  user: members.get('user'),
  safetyIdentifier: members.get('safety_identifier'),
  brandSession: members.get(`${brand}_session_id`),
  brandTrace: members.get(`${brand}_trace_id`),
  metadata: members.get('metadata'),
  brandMetadata: members.get(`${brand}_metadata`),
  tags: members.get('tags'),
});

function membersOf(x: Exchange, endpoint: Endpoint, bytes: Buffer): RequestMembers {
  const type = x.headers.contentType ?? 'application/json';
  const media = type.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (media === 'multipart/form-data' && endpoint.body === 'form') {
    const boundary = boundaryOf(type);
    if (boundary === null)
      throw new Fault('bad_multipart', 'The multipart content type names no valid boundary.');
    const peeked = peekMultipart(bytes, boundary, x.active.wanted);
    if (peeked.ok) return { kind: 'form', peeked };
    throw new Fault(
      peeked.fault === 'duplicate_member' ? 'duplicate_member' : 'bad_multipart',
      peeked.detail,
    );
  }
  // An upstream that honours a charset such as UTF-7 would read other members than the proxy did.
  if (/charset/i.test(type) && !UTF8.test(readParameters(type)?.parameters.get('charset') ?? '')) {
    throw new Fault('unsupported_media_type', 'JSON is taken in UTF-8 only (RFC 8259 section 8.1).');
  }
  if (!media.endsWith('json')) {
    const wanted = endpoint.body === 'form' ? 'application/json or multipart/form-data' : 'application/json';
    throw new Fault('unsupported_media_type', `This endpoint takes ${wanted}, not ${media.slice(0, 60)}.`);
  }
  const peeked = peek(bytes, x.active.wanted, x.active.snapshot.limits.jsonDepth);
  if (peeked.ok) return { kind: 'json', peeked };
  throw new Fault(
    PEEK_CODES[peeked.fault],
    peeked.detail,
    peeked.name === undefined ? {} : { param: peeked.name },
  );
}

const PEEK_CODES: Readonly<Record<PeekFaultKind, FaultCode>> = {
  duplicate_member: 'duplicate_member',
  invalid_utf8: 'body_not_utf8',
  not_object: 'body_not_object',
  too_deep: 'body_too_deep',
  not_json: 'body_not_json',
};

type Members = ReadonlyMap<string, unknown>;

/** Strings are decoded directly, other values are parsed: the wanted members are small. */
function jsonMembers(bytes: Buffer, peeked: PeekedBody): Members {
  const members = new Map<string, unknown>();
  for (const member of peeked.members) members.set(member.name, valueOf(bytes, member));
  return members;
}

function valueOf(bytes: Buffer, member: Member): unknown {
  return readString(bytes, member) ?? readJson(bytes, member);
}

function formMembers(peeked: PeekedForm): Members {
  return new Map(peeked.fields.map((field) => [field.name, field.value]));
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
