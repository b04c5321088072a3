// Which members of a body the proxy changes for an upstream, what they become, and why. `explain` prints the list, and
// the cuts of the client's bytes are made from it, so the two cannot disagree.
import type { Buffer } from 'node:buffer';
import { isControlMember } from '../active-config/read-members.ts';
import { parseJson, type Json } from '../bodies/json.ts';
import { formCutsOf, type FormEdit } from '../bodies/multipart.ts';
import { cutsOf, type Cut, type Edit } from '../bodies/splice.ts';
import type { Exchange } from './exchange.ts';
import type { ParsedRequest } from './parse-request.ts';
import type { SelectedDeployment } from './select-deployment.ts';

/** One change to the body, as `explain` prints it. */
export interface BodyChange {
  readonly member: string;
  readonly change: 'replaced' | 'removed' | 'added';
  readonly why: string;
}

/** A change of a top-level member, with what it becomes: JSON text. */
export type MemberChange = BodyChange &
  (
    { readonly change: 'removed' } | { readonly change: 'replaced' | 'added'; readonly json: string | Buffer }
  );

/**
 * The changes of top-level members, each member at most once.
 * @param asksUsage the usage event of a stream is asked for, although the client did not
 * @param unwanted members that a translation has made and that do not go
 * @param stated what the entry of the deployment states: no other rule has a say in these members
 */
export function bodyChanges(
  x: Exchange,
  request: ParsedRequest,
  selected: SelectedDeployment,
  asksUsage: boolean,
  unwanted: readonly string[],
  stated: readonly MemberChange[],
): readonly MemberChange[] {
  const changes: MemberChange[] = [...stated];
  const present = membersOf(request);
  const has = (member: string): boolean => present.some(({ name }) => name === member);
  const set = (member: string, value: string | Json, why: string): void => {
    changes.push({ member, change: has(member) ? 'replaced' : 'added', why, json: JSON.stringify(value) });
  };
  const remove = (member: string, why: string): void => {
    changes.push({ member, change: 'removed', why });
  };
  if (request.endpoint.path.includes('{model}')) {
    if (has('model')) remove('model', 'the path names it');
  } else if (request.bodyModel !== selected.upstreamModel) {
    const isInPath = request.bodyModel === null;
    const why = isInPath ? 'the path names it' : `upstream name of ${selected.deployment.config.group}`;
    set('model', selected.upstreamModel, why);
  }
  for (const { name } of present) {
    const why = whyRemoved(x, request, selected, name);
    if (why !== null && !stated.some(({ member }) => member === name)) remove(name, why);
  }
  if (asksUsage)
    set('stream_options', { ...request.streamOptions, include_usage: true }, 'asks for the usage event');
  for (const name of unwanted)
    if (!changes.some(({ member }) => member === name)) remove(name, 'not asked for by the client');
  return changes;
}

/** Why a member of the client does not go to this deployment; null: it goes. */
function whyRemoved(
  { active }: Exchange,
  { ownFallbacks }: ParsedRequest,
  { deployment: { config } }: SelectedDeployment,
  name: string,
): string | null {
  if (name === 'fallbacks' && ownFallbacks !== undefined)
    return 'names of this proxy, which falls back to them';
  if (name === 'user') return 'recorded as end user, not forwarded';
  if (config.refusedMembers.has(name)) return `${config.provider} refuses it`;
  if (config.stripsControlMembers && isControlMember(name, active.snapshot.dialect.brand))
    return 'a control member; compat-type upstreams do not know it';
  return null;
}

const membersOf = ({ members }: ParsedRequest): readonly { readonly name: string }[] =>
  members.kind === 'json' ? members.peeked.members : members.peeked.fields;

/** The cuts that make `changes` in the body of `request`. */
export function bodyCuts({ members }: ParsedRequest, changes: readonly MemberChange[]): readonly Cut[] {
  if (changes.length === 0) return [];
  if (members.kind === 'json') {
    const { peeked } = members;
    return cutsOf(
      peeked,
      changes.map((one): Edit => {
        if (one.change === 'removed') return { kind: 'remove', member: named(peeked.members, one.member) };
        const value = one.json;
        return one.change === 'added'
          ? { kind: 'append', name: one.member, value }
          : { kind: 'replace', member: named(peeked.members, one.member), value };
      }),
    );
  }
  const { peeked } = members;
  return formCutsOf(
    peeked,
    changes.map((one): FormEdit => {
      if (one.change === 'removed') return { kind: 'remove', field: named(peeked.fields, one.member) };
      const value = fieldText(String(one.json));
      return one.change === 'added'
        ? { kind: 'append', name: one.member, value }
        : { kind: 'replace', field: named(peeked.fields, one.member), value };
    }),
  );
}

/** A text stands in a form without its quotes. */
function fieldText(json: string): string {
  const value = json.startsWith('"') ? parseJson(json) : json;
  return typeof value === 'string' ? value : json;
}

function named<T extends { readonly name: string }>(members: readonly T[], name: string): T {
  const found = members.find((one) => one.name === name);
  if (found === undefined) throw new Error(`the body has no member ${name}`);
  return found;
}
