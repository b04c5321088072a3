// Path, query and headers of a call, where the protocol of the upstream has a say in them.
import { hasHeader } from '../headers/flat-list.ts';
import type { HeaderDecision } from '../headers/upstream-headers.ts';
import type { Endpoint, Protocol } from '../protocols/protocol.ts';
import type { UpstreamRequest } from '../relay/upstream-request.ts';
import type { SelectedDeployment } from './select-deployment.ts';

/** The query of the upstream: an endpoint that streams is asked for events, whatever its client wants. */
export function queryFor({ streams }: Endpoint, query: string): string {
  if (streams !== 'always') return query;
  const others = query.split('&').filter((part) => part !== '' && !/^alt(?:=|$)/.test(part));
  return [...others, 'alt=sse'].join('&');
}

/** A name in a path; its slashes stay. Google's begin with `models/`, which the path has. */
export function inPath(model: string): string {
  return model
    .replace(/^models\//, '')
    .split('/')
    .map(encodeURIComponent)
    .join('/');
}

/** The headers of another protocol: without those of the caller's, with those that no server of it can do without. */
export function forProtocol(
  built: UpstreamRequest,
  { deployment: { headers: own } }: SelectedDeployment,
  from: Protocol,
  note?: (decision: HeaderDecision) => void,
): UpstreamRequest {
  const to = built.protocol;
  const headers: string[] = [];
  for (const [name, value] of pairsOf(built.headers)) {
    if (own.names.has(name) || !isForeign(name, from)) headers.push(name, value);
    else note?.({ name, action: 'dropped', rule: `belongs to the protocol ${from.name}` });
  }
  for (const [name, value] of pairsOf(to.neededHeaders ?? [])) {
    if (hasHeader(headers, name)) continue;
    headers.push(name, value);
    note?.({ name, action: 'set', rule: `the protocol ${to.name} needs it` });
  }
  headers.push('accept-encoding', 'identity');
  note?.({ name: 'accept-encoding', action: 'set', rule: 'what is translated has to be read' });
  return { ...built, headers };
}

const isForeign = (name: string, { ownHeaders = [] }: Protocol): boolean =>
  ownHeaders.some((prefix) => name.replaceAll('_', '-').startsWith(prefix));

function pairsOf(list: readonly string[]): (readonly [string, string])[] {
  const pairs: (readonly [string, string])[] = [];
  for (let i = 0; i + 1 < list.length; i += 2) pairs.push([list[i] ?? '', list[i + 1] ?? '']);
  return pairs;
}
