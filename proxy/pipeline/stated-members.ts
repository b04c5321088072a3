// What the entry of a deployment states of its requests, put into the body of one attempt: settings that the client leaves open, and
// `extra_body`, whatever the client says. Every other byte stays as the client sent it.
import { Buffer } from 'node:buffer';
import type { StatedByEntry } from '../active-config/stated-by-entry.ts';
import { parseObject, type Json } from '../bodies/json.ts';
import { memberNamed, readJson, type Member, type PeekedBody, type Wanted } from '../bodies/members.ts';
import type { PeekedForm } from '../bodies/multipart.ts';
import { peek } from '../bodies/peek.ts';
import { splice, type Edit } from '../bodies/splice.ts';
import type { Endpoint, Protocol } from '../protocols/protocol.ts';
import { leftOpen } from '../protocols/translation/stated-settings.ts';
import type { BodyChange } from './body-changes.ts';
import type { ParsedRequest } from './parse-request.ts';
import type { SelectedDeployment } from './select-deployment.ts';
import type { TranslatedCall } from './translate-call.ts';

/** A top-level member that is set, with its JSON text. */
export interface SetMember extends BodyChange {
  readonly change: 'replaced' | 'added';
  readonly json: string | Buffer;
}

const WHOLE = 'its entry states it';
const PARTLY = 'its entry states members of it';
const NOTHING: readonly SetMember[] = Object.freeze([]);
const NO_SETTINGS: Json = Object.freeze({});

/** Whether a call gets what entries state: one that only counts tokens calls no model, and its endpoint takes no settings. */
export const takesStated = ({ countAnswer, returnsStored }: Endpoint): boolean =>
  countAnswer === undefined && !returnsStored;

/** What the settings of an entry come to at an endpoint. A compaction takes none: its API knows no such members. */
export const settingsAt = (
  stated: StatedByEntry,
  { protocol, counted }: Endpoint,
  model: string,
  most: number | null,
): Json => (counted === 'nothing' ? NO_SETTINGS : stated.settingsIn(protocol, model, most));

/** @param request as it goes upstream @param call the translation of it; null = it goes in its own protocol */
export function statedChanges(
  request: ParsedRequest,
  { deployment, upstreamModel }: SelectedDeployment,
  call: Pick<TranslatedCall, 'settingsLeft'> | null,
): readonly SetMember[] {
  const { stated } = deployment;
  const { endpoint, maxOutput, members, body } = request;
  if (stated === null || !takesStated(endpoint)) return NOTHING;
  if (members.kind === 'form') return inForm(members.peeked, stated.extra);
  const most = maxOutput ?? limitOf(body.bytes, members.peeked, endpoint);
  const settings = call?.settingsLeft ?? settingsAt(stated, endpoint, upstreamModel, most);
  const taken = call === null ? settings : withoutChoices(settings);
  return inJson(body.bytes, members.peeked, endpoint.protocol, taken, stated.extra);
}

/** Of several answers, a caller in another protocol would get one and pay for all. */
const withoutChoices = (settings: Json): Json =>
  Object.fromEntries(Object.entries(settings).filter(([name]) => name !== 'n'));

/** What a translation states where the client does not; null = nothing that settings depend on. */
function limitOf(bytes: Buffer, peeked: PeekedBody, { protocol }: Endpoint): number | null {
  if (protocol.limitsThoughts !== true) return null;
  const limits = (protocol.outputLimits ?? []).map((name) => valueOf(bytes, peeked, name));
  return limits.find((one) => typeof one === 'number') ?? null;
}

function inForm({ fields }: PeekedForm, extra: StatedByEntry['extra']): readonly SetMember[] {
  return extra.map(([member, json]) => ({
    member,
    change: fields.some(({ name }) => name === member) ? 'replaced' : 'added',
    why: WHOLE,
    json: json.reveal(),
  }));
}

function inJson(
  bytes: Buffer,
  peeked: PeekedBody,
  protocol: Protocol,
  settings: Json,
  extra: StatedByEntry['extra'],
): readonly SetMember[] {
  const { settingObjects = [], joinsObjects = false } = protocol;
  const set = new Map<string, SetMember>();
  const put = (name: string, json: string, joins: boolean, wins: boolean): void => {
    const found = membersSpelled(peeked, protocol, name);
    // A member that the client does not state keeps the spelling that it got first.
    const own = [...set.keys()].find((one) => isSpelling(protocol, name, one)) ?? name;
    for (const client of found.length === 0 ? [undefined] : wins ? found : found.slice(0, 1)) {
      const member = client?.name ?? own;
      const before = set.get(member)?.json ?? (client && bytes.subarray(client.valueStart, client.valueEnd));
      const joined = before === undefined || !joins ? null : joinedObject(before, json, wins, protocol);
      const change = client === undefined ? 'added' : 'replaced';
      if (joined !== null) {
        if (joined !== before) set.set(member, { member, change, why: PARTLY, json: joined });
      } else if (before === undefined || wins) set.set(member, { member, change, why: WHOLE, json });
    }
  };
  const open = leftOpen(protocol, settings, {
    states: (path) => isStatedAt(bytes, peeked, path),
    said: (member) => valueOf(bytes, peeked, member),
  });
  for (const [name, value] of Object.entries(open))
    put(name, JSON.stringify(value), settingObjects.includes(name), false);
  for (const [name, json] of extra) put(name, json.reveal(), joinsObjects, true);
  return [...set.values()];
}

/** Whether the client states a member; dotted, one in an object. */
function isStatedAt(bytes: Buffer, peeked: PeekedBody, path: string): boolean {
  const [first = path, second] = path.split('.');
  const member = memberNamed(peeked, first);
  if (member === undefined || second === undefined) return member !== undefined;
  const inner = peek(bytes.subarray(member.valueStart, member.valueEnd), only([second]), Infinity);
  return inner.ok && inner.members.length > 0;
}

/** Longer than any setting. */
const LONG_VALUE = 4_096;

/** The value of a member that is a setting; undefined = there is none. */
function valueOf(bytes: Buffer, peeked: PeekedBody, name: string): unknown {
  const member = memberNamed(peeked, name);
  if (member === undefined || member.valueEnd - member.valueStart > LONG_VALUE) return undefined;
  return readJson(bytes, member);
}

/**
 * The text of an object with the members of another one; the same where there is nothing to add, null where one of the two is no
 * object. @param wins over members of `before`, whatever their spelling
 */
function joinedObject(
  before: Buffer | string,
  json: string,
  wins: boolean,
  protocol: Protocol,
): Buffer | string | null {
  const values = parseObject(json);
  if (values === null) return null;
  const bytes = Buffer.from(before);
  const wanted = only(Object.keys(values).flatMap((name) => protocol.spellings?.(name) ?? [name]));
  const peeked = peek(bytes, wanted, Infinity);
  if (!peeked.ok) return null;
  const edits = Object.entries(values).flatMap(([name, value]): Edit[] => {
    const text = JSON.stringify(value);
    const found = membersSpelled(peeked, protocol, name);
    if (found.length === 0) return [{ kind: 'append', name, value: text }];
    return wins ? found.map((member) => ({ kind: 'replace', member, value: text })) : [];
  });
  return edits.length === 0 ? before : splice(bytes, peeked, edits);
}

/** All of them: of two spellings nobody knows which one is read. */
const membersSpelled = ({ members }: PeekedBody, protocol: Protocol, name: string): readonly Member[] =>
  members.filter((one) => isSpelling(protocol, name, one.name));

const isSpelling = ({ spellings }: Protocol, name: string, other: string): boolean =>
  other === name || spellings?.(name).includes(other) === true;

const only = (names: readonly string[]): Wanted => ({ names: new Set(names), prefixes: [] });
