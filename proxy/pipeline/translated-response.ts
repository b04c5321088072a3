// What becomes of the answer to a call whose client does not get the bytes of the upstream: what translated-sink.ts is told.
import { readQuery } from '../base/query-string.ts';
import { asArray, UNCHANGED } from '../protocols/gemini-array.ts';
import type { Endpoint } from '../protocols/protocol.ts';
import type { LastEvent, PriceUsage } from '../relay/sse-tap.ts';
import type { TranslatedResponse } from '../relay/translated-response.ts';
import type { Exchange } from './exchange.ts';
import type { Json } from '../bodies/json.ts';
import type { ParsedRequest } from './parse-request.ts';
import type { TranslatedCall } from './translate-call.ts';

/** What becomes of the answer; null: the client gets the bytes of the upstream. @param call null: the request goes as it is */
export function translatedResponse(
  x: Exchange,
  request: ParsedRequest,
  call: TranslatedCall | null,
  priceUsage: PriceUsage | null,
): TranslatedResponse | null {
  const { endpoint } = request;
  const isArray = endpoint.streams === 'always' && !asksForEvents(x.query);
  if (call === null && !isArray) return null;
  const { headerNames } = x.active;
  const translation = call?.translation ?? UNCHANGED;
  return {
    translation: isArray ? asArray(translation) : translation,
    caller: endpoint.protocol,
    isStream: request.stream,
    streamType: isArray ? 'application/json' : 'text/event-stream; charset=utf-8',
    lastEvent: lastEventOf(request.isSingle, request.streamOptions),
    headers: call === null ? [] : headersOf(x, endpoint, call),
    errorHeaders: [headerNames.errorSource, 'upstream'],
    priceUsage: isArray ? null : priceUsage,
  };
}

/** The last event of the caller's protocol that the client needs. */
export function lastEventOf(isSingle: boolean, streamOptions: Json | null): LastEvent {
  if (!isSingle) return 'done'; // each choice has a finish reason
  return streamOptions?.['include_usage'] === true ? 'usage' : 'finish';
}

const asksForEvents = (query: string): boolean =>
  [...readQuery(query)].some(([name, value]) => name === 'alt' && value === 'sse');

const MOST_DROPPED = 50;

function headersOf(x: Exchange, from: Endpoint, { request, translation }: TranslatedCall): readonly string[] {
  const { translated, droppedParams } = x.active.headerNames;
  const headers = [translated, `${from.protocol.name}->${request.endpoint.protocol.name}`];
  const { dropped } = translation;
  // Names that a client has made up are shown as far as a header can hold them.
  const shown = dropped
    .slice(0, MOST_DROPPED)
    .map((name) => name.slice(0, 100).replaceAll(/[^\w.[\]*-]/g, '?'));
  if (shown.length < dropped.length) shown.push(`and ${dropped.length - shown.length} more`);
  if (shown.length > 0) headers.push(droppedParams, shown.join(', '));
  return headers;
}

/** The cost of a usage as the upstream states it is what the client reads in the translated one. */
export function noted(pricer: PriceUsage): { readonly note: PriceUsage; readonly again: PriceUsage } {
  let usd: string | null = null;
  return {
    note: (...stated) => {
      usd = pricer(...stated);
      return null; // nothing is written into what is translated
    },
    // An upstream that answered with a document, and not with events, was not noted.
    again: (...stated) => usd ?? pricer(...stated),
  };
}
