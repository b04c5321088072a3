// The members of a body from which the gateway would read a session: where the call's session is stamped, they all say the
// same. Every other byte stays as the client sent it.
import type { SessionMembers } from '../../config/resolve/gateways/gateway.ts';
import { Fault } from '../errors/fault.ts';
import { parseObject } from '../bodies/json.ts';
import { formCutsOf, type PeekedForm } from '../bodies/multipart.ts';
import { readJson, readString, type Member, type PeekedBody } from '../bodies/members.ts';
import { peek } from '../bodies/peek.ts';
import type { Cut } from '../bodies/splice.ts';
import type { ParsedRequest } from './parse-request.ts';

/** A member that states another session, and the change of the body that corrects it. */
export interface SessionEdit {
  /** e.g. `metadata.session_id`. */
  readonly member: string;
  readonly change: 'replaced' | 'removed';
  readonly cuts: readonly Cut[];
}

/**
 * The members that state another session than `sessionId`, each with its change. A form loses them, because a session id
 * may hold the boundary of the form; the header says it.
 * @throws Fault duplicate_member where one of them stands twice
 */
export function sessionEdits(
  { members, body }: Pick<ParsedRequest, 'members' | 'body'>,
  wanted: SessionMembers,
  sessionId: string,
): SessionEdit[] {
  if (members.kind === 'json') return jsonEdits(body.bytes, members.peeked, wanted, sessionId);
  const { peeked } = members;
  const isOther = ({ name, value }: PeekedForm['fields'][number]): boolean =>
    wanted.names.includes(name)
      ? value !== sessionId
      : wanted.objects.includes(name) && rewritten(value, wanted, sessionId) !== null;
  return peeked.fields.filter(isOther).map((field) => ({
    member: field.name,
    change: 'removed',
    cuts: formCutsOf(peeked, [{ kind: 'remove', field }]),
  }));
}

function jsonEdits(
  bytes: Buffer,
  { members }: PeekedBody,
  wanted: SessionMembers,
  sessionId: string,
): SessionEdit[] {
  return members.flatMap((member): SessionEdit[] => {
    const { name, valueStart } = member;
    if (wanted.names.includes(name)) return replaced(bytes, member, name, 0, sessionId);
    if (!wanted.objects.includes(name)) return [];
    const text = readString(bytes, member); // gateways parse it
    if (text !== undefined) {
      const value = rewritten(text, wanted, sessionId);
      if (value === null) return [];
      const cut = { start: valueStart, end: member.valueEnd, insert: [JSON.stringify(value)] };
      return [{ member: name, change: 'replaced', cuts: [cut] }];
    }
    const inner = bytes.subarray(valueStart, member.valueEnd);
    const peeked = peek(inner, { names: new Set(wanted.objectNames), prefixes: [] }, Infinity);
    if (peeked.ok)
      return peeked.members.flatMap((one) =>
        replaced(inner, one, `${name}.${one.name}`, valueStart, sessionId),
      );
    if (peeked.fault !== 'duplicate_member') return []; // no object: no gateway reads a session from it
    const param = `${name}.${peeked.name ?? ''}`;
    throw new Fault('duplicate_member', peeked.detail, { param });
  });
}

/** @param offset of `bytes` in the body */
function replaced(
  bytes: Buffer,
  member: Member,
  name: string,
  offset: number,
  sessionId: string,
): SessionEdit[] {
  if (readJson(bytes, member) === sessionId) return [];
  const insert = [JSON.stringify(sessionId)];
  const cut = { start: offset + member.valueStart, end: offset + member.valueEnd, insert };
  return [{ member: name, change: 'replaced', cuts: [cut] }];
}

/** The JSON text of an object whose session members say `sessionId`; null = it is none, or they do already. */
function rewritten(text: string, { objectNames }: SessionMembers, sessionId: string): string | null {
  const value = parseObject(text);
  if (value === null) return null;
  const others = objectNames.filter((name) => name in value && value[name] !== sessionId);
  if (others.length === 0) return null;
  return JSON.stringify({ ...value, ...Object.fromEntries(others.map((name) => [name, sessionId])) });
}
