// Rules that the configuration sets for every LLM call, whoever makes it: an end user must be stated, is not blocked, and
// tags are the operator's to give.
import { asObject, parseObject } from '../bodies/json.ts';
import { Fault } from '../errors/fault.ts';
import type { Exchange } from './exchange.ts';
import type { Identity } from './identity.ts';
import type { ParsedRequest } from './parse-request.ts';

/** @throws Fault missing_end_user, blocked_end_user, client_tags_refused */
export function checkCallerRules(x: Exchange, request: ParsedRequest, identity: Identity): void {
  const { requiresEndUser, refusesClientTags } = x.active.snapshot.access;
  if (requiresEndUser && identity.endUser === null) {
    const text =
      'The call states no end user: send `user` in the body (general_settings.enforce_user_param).';
    throw new Fault('missing_end_user', text, { param: 'user' });
  }
  checkBlocked(x, identity);
  if (!refusesClientTags) return;
  const place = placeOfTags(x, request);
  const profile = place === null ? tagsOfProfile(x, identity) : null;
  const param = place ?? profile;
  if (param === null) return;
  const where = profile === null ? 'in request' : 'in the extra_headers of a profile';
  const text = `Client-side \`${param}\` not allowed ${where} (general_settings.reject_clientside_metadata_tags).`;
  throw new Fault('client_tags_refused', text, { param });
}

/** For calls without a body, too. @throws Fault blocked_end_user */
export function checkBlocked(x: Exchange, { endUser }: Identity): void {
  if (endUser === null) return;
  const { snapshot, services } = x.active;
  const isListed = snapshot.access.blockedEndUsers.has(endUser);
  if (!isListed && services.access.directory.customer(endUser)?.blocked !== true) return;
  const where = isListed ? 'blocked_user_list' : '/customer/block';
  throw new Fault('blocked_end_user', `This end user is blocked (${where}).`);
}

/** Where the call states tags, in whatever shape: what we cannot read, the gateway behind might. null = nowhere. */
function placeOfTags(x: Exchange, { identityMembers: members }: ParsedRequest): string | null {
  const { headerPrefix, metadataMember } = x.active.snapshot.dialect;
  if ((x.headers.tags ?? '').trim() !== '') return `${headerPrefix}tags`;
  if (statesTags(members.tags)) return 'tags';
  if (statesTags(tagsIn(members.metadata))) return 'metadata.tags';
  return statesTags(tagsIn(members.brandMetadata)) ? `${metadataMember}.tags` : null;
}

/** The header of a profile that states tags: a profile is its user's to write, as the request is. */
function tagsOfProfile(x: Exchange, { keyHeaders }: Identity): string | null {
  const name = `${x.active.snapshot.dialect.headerPrefix}tags`;
  const stated = keyHeaders?.some(([one, value]) => one === name && value.reveal().trim() !== '');
  return stated === true ? name : null;
}

const statesTags = (value: unknown): boolean =>
  value !== undefined && value !== null && value !== '' && !(Array.isArray(value) && value.length === 0);

/** Forms carry metadata as JSON text. */
function tagsIn(metadata: unknown): unknown {
  return (typeof metadata === 'string' ? parseObject(metadata) : asObject(metadata))?.['tags'];
}
