// Whose call it is: session, end user, tags, spend metadata. One function, one order, from key, headers and body; documented
// in docs/identity.md. The result is recorded, returned in a header and sent upstream. Pure.
import type { Dialect } from '../../config/dialect.ts';
import { ownText } from '../../config/own-text.ts';
import { MOST_TAGS, type Caller } from '../access/caller.ts';
import type { CallerIdentity } from '../access/callers.ts';
import type { HeaderRules } from '../headers/header-rules.ts';
import { carriesCredential, readHeaders, type RequestHeaders } from '../headers/request-headers.ts';
import { asObject, isObject, isStated, parseObject, type Json } from '../bodies/json.ts';
import { cleanObject, cleanText } from '../bodies/text.ts';
import { claudeCodeUser } from './claude-code-user.ts';
import type { Exchange } from './exchange.ts';

/** Whose call it is, resolved once; the record, the response and the upstream all get this one. */
export interface Identity {
  readonly sessionId: string;
  /** `x-litellm-session-id`, `body.metadata.session_id`, ..., `generated`. */
  readonly sessionSource: string;
  readonly endUser: string | null;
  readonly tags: readonly string[];
  readonly spendLogsMetadata: Json | null;
  /** Sentences on what could not be used; they go into the record, the call goes on. */
  readonly warnings: readonly string[];
  /** Headers that the caller's key brings along; null when the key stands for no session. */
  readonly keyHeaders: CallerIdentity['headers'] | null;
}

/** The members of a body that say something about identity; `undefined` = absent. */
export interface IdentityMembers {
  readonly user: unknown;
  readonly safetyIdentifier: unknown;
  /** `<brand>_session_id`, `<brand>_trace_id`. */
  readonly brandSession: unknown;
  readonly brandTrace: unknown;
  readonly metadata: unknown;
  /** `<brand>_metadata`. */
  readonly brandMetadata: unknown;
  readonly tags: unknown;
}

const MAX_TEXT = 256;
const MAX_METADATA = 16_384;
const SESSION = /^[\x21-\x7e]{1,256}$/;

/** What may stand in a header: the id is set on the upstream request. */
export const isSessionId = (text: string): boolean => SESSION.test(text);

/** How headers, members and the sources in `sessionSource` are spelt. */
type IdentityNames = Pick<Dialect, 'metadataMember' | 'spendMetadataHeader' | 'sessionSources'>;

/** Where an identity comes from, beside the body. */
export interface IdentitySources {
  readonly headers: RequestHeaders;
  /** The identity of the caller's key, which wins over what the request states; null: the key has none. */
  readonly key: CallerIdentity | null;
  /** Reads the headers of the key. */
  readonly rules: HeaderRules;
  readonly dialect: IdentityNames;
  /** The session of a call that names none. */
  readonly callId: string;
}

/**
 * Resolves the identity of one request; nothing changes it afterwards.
 * @param body its members; none when the body was never read
 */
export function resolveIdentity(sources: IdentitySources, body: IdentityMembers = NO_MEMBERS): Identity {
  const { headers, key, dialect, callId } = sources;
  const warnings: string[] = [];
  const profile = profileHeaders(sources);
  const metadata = objectOf(body.metadata, 'metadata', warnings);
  const brandMetadata = objectOf(body.brandMetadata, dialect.metadataMember, warnings);
  const agent = claudeCodeUser(metadata?.['user_id']);
  const named = sessionOf(sources, body, { metadata, brandMetadata, agentSession: agent?.session }, warnings);
  // A generated id is in the order of time, as the call: a random one would cost the store's index a page per row.
  const session = key === null ? (named ?? { id: callId, source: 'generated' }) : keySession(key);
  const said = firstText([
    profile?.endUser,
    headers.endUser,
    body.user,
    brandMetadata?.['user'],
    metadata?.['trace_user_id'],
    agent === null ? metadata?.['user_id'] : agent.user,
    body.safetyIdentifier,
  ]);
  const endUser = said === null || carriesCredential(said, headers.credentials) ? null : said;
  if (endUser !== said) warnings.push('the end user holds the key of the caller; it was left out');
  if (endUser !== null && endUser.length > MAX_TEXT)
    warnings.push(`the end user was cut to ${MAX_TEXT} characters`);
  const lists = [profile?.tags, metadata?.['tags'], brandMetadata?.['tags'], body.tags, headers.tags];
  const tags = tagsOf(headers, profile, lists, warnings);
  return {
    sessionId: session.id,
    sessionSource: session.source,
    endUser: endUser === null ? (key?.endUser ?? null) : cleanText(endUser, MAX_TEXT),
    tags: key === null ? tags : mergedTags(key.tags, tags),
    spendLogsMetadata: spendMetadata(headers, profile, [metadata, brandMetadata], dialect, warnings),
    warnings,
    keyHeaders: key?.headers ?? null,
  };
}

/** The identity of the call that came on `x`. @param body its members; none when the body was never read */
export function identityOf(
  { headers, active, id }: Exchange,
  caller: Caller,
  body?: IdentityMembers,
): Identity {
  const { rules, snapshot } = active;
  const key = caller.identity ?? null;
  return resolveIdentity({ headers, key, rules, dialect: snapshot.dialect, callId: id }, body);
}

/** What the headers of a key say, read as a client's are; null = it has none. */
function profileHeaders({ key, rules }: IdentitySources): RequestHeaders | null {
  if (key === null || key.headers.length === 0) return null;
  return readHeaders(
    rules,
    key.headers.flatMap(([name, value]) => [name, value.reveal()]),
  );
}

const keySession = ({ sessionId }: CallerIdentity): Session => ({
  id: sessionId,
  source: 'key',
});

/** Of a request whose body was not read. */
export const NO_MEMBERS: IdentityMembers = {
  user: undefined,
  safetyIdentifier: undefined,
  brandSession: undefined,
  brandTrace: undefined,
  metadata: undefined,
  brandMetadata: undefined,
  tags: undefined,
};

interface Session {
  readonly id: string;
  readonly source: string;
}

/** What the metadata of a body say, as read. */
interface MetadataRead {
  readonly metadata: Json | null;
  readonly brandMetadata: Json | null;
  /** In what Claude Code states as its user. */
  readonly agentSession: string | undefined;
}

/** The session that a request names; null: none. The order is documented. */
function sessionOf(
  { headers, dialect: { sessionSources: sources } }: IdentitySources,
  body: IdentityMembers,
  { metadata, brandMetadata, agentSession }: MetadataRead,
  warnings: string[],
): Session | null {
  const usable = (source: string, value: unknown): Session | null => {
    if (value === undefined || value === null || value === '') return null;
    const text = typeof value === 'number' ? String(value) : value;
    const isFit = typeof text === 'string' && isSessionId(text.trim());
    if (isFit && !carriesCredential(text, headers.credentials)) return { id: text.trim(), source };
    const why = isFit ? 'holds the key of the caller' : 'is not 1 to 256 printable ASCII characters';
    warnings.push(`the session id of ${source} ${why}; it was passed over`);
    return null;
  };
  const { vendorSession } = headers;
  return (
    usable(sources.header, headers.session) ??
    usable(sources.member, body.brandSession) ??
    usable('body.metadata.session_id', metadata?.['session_id'] ?? brandMetadata?.['session_id']) ??
    usable(sources.traceHeader, headers.trace) ??
    usable(sources.traceMember, body.brandTrace) ??
    (vendorSession === null ? null : usable(vendorSession.name, vendorSession.value)) ??
    usable('body.metadata.user_id', agentSession)
  );
}

function tagText(value: unknown): string {
  if (typeof value === 'string') return value.trim();
  return typeof value === 'number' ? String(value) : '';
}

function tagsOf(
  headers: RequestHeaders,
  profile: RequestHeaders | null,
  lists: readonly unknown[],
  warnings: string[],
): readonly string[] {
  const fromHeaders = headerTags(headers, profile);
  if (fromHeaders.length === 0 && !lists.some(isStated)) return [];
  return allTags(lists, fromHeaders, headers, warnings);
}

function allTags(
  lists: readonly unknown[],
  fromHeaders: readonly string[],
  headers: RequestHeaders,
  warnings: string[],
): readonly string[] {
  const tags = new Set<string>();
  let dropped = 0;
  let cut = 0;
  let leaking = 0;
  const add = (value: unknown): void => {
    const text = tagText(value);
    if (text === '') return;
    if (carriesCredential(text, headers.credentials)) {
      leaking += 1;
      return;
    }
    if (text.length > MAX_TEXT) cut += 1;
    const tag = ownText(cleanText(text, MAX_TEXT));
    if (tags.size < MOST_TAGS) tags.add(tag);
    else if (!tags.has(tag)) dropped += 1;
  };
  for (const list of lists) {
    if (Array.isArray(list)) list.forEach(add);
    else if (typeof list === 'string') list.split(',').forEach(add);
  }
  fromHeaders.forEach(add);
  if (leaking > 0) warnings.push(`${leaking} tags hold the key of the caller; they were left out`);
  if (cut > 0) warnings.push(`${cut} tags were cut to ${MAX_TEXT} characters`);
  if (dropped > 0) warnings.push(`${dropped} tags over the limit of ${MOST_TAGS} were left out`);
  return [...tags];
}

/** Headers that the operator lists as tags: a profile's takes the place of the client's, as it does on the wire. */
function headerTags(headers: RequestHeaders, profile: RequestHeaders | null): readonly string[] {
  if (profile === null || profile.headerTags.length === 0) return headers.headerTags;
  const names = profile.rules.filter(({ isTag }) => isTag).map(({ name }) => `${name}: `);
  const others = headers.headerTags.filter((tag) => !names.some((name) => tag.startsWith(name)));
  return [...profile.headerTags, ...others];
}

/**
 * The tags of a deployment, a team or a key, then the request's, none twice. Budgets count on the former, so they are there whatever
 * the request states; its own are left out where there are 100.
 */
export function mergedTags(first: readonly string[], request: readonly string[]): readonly string[] {
  if (first.length === 0) return request;
  const tags = new Set(first);
  for (const tag of request) if (tags.size < MOST_TAGS) tags.add(tag);
  return [...tags];
}

function spendMetadata(
  headers: RequestHeaders,
  profile: RequestHeaders | null,
  bodies: readonly (Json | null)[],
  { spendMetadataHeader: name }: IdentityNames,
  warnings: string[],
): Json | null {
  const given =
    headerObject(profile?.spendMetadata ?? null, `${name} of the profile`, warnings) ??
    headerObject(headers.spendMetadata, name, warnings) ??
    bodies.map((one) => one?.['spend_logs_metadata']).find(isObject);
  if (given === undefined) return null;
  const kept = cleanObject(given, MAX_METADATA);
  if (kept !== null && carriesCredential(JSON.stringify(kept), headers.credentials)) {
    warnings.push('the spend metadata hold the key of the caller; they were left out');
    return null;
  }
  if (kept === null)
    warnings.push(
      `the spend metadata is longer than ${MAX_METADATA} characters or nested too deep; it was not stored`,
    );
  return kept;
}

function headerObject(text: string | null, name: string, warnings: string[]): Json | undefined {
  const value = text === null ? undefined : parseObject(text);
  if (value !== null) return value;
  warnings.push(`the header ${name} is not a JSON object; it was not stored`);
  return undefined;
}

function objectOf(value: unknown, name: string, warnings: string[]): Json | null {
  if (!isStated(value)) return null;
  const object = typeof value === 'string' ? parseObject(value) : asObject(value); // multipart forms carry it as text
  if (object === null) warnings.push(`${name} is not an object; it was not read`);
  return object;
}

function firstText(values: readonly unknown[]): string | null {
  for (const value of values) {
    if (typeof value === 'string' && value.trim() !== '') return value.trim();
    if (typeof value === 'number') return String(value);
  }
  return null;
}
