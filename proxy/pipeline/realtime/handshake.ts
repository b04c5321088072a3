// The opening handshake of a client (RFC 6455 section 4.2): what it must say, the model that it names, and how it is answered.
import { Buffer } from 'node:buffer';
import { SUBPROTOCOL_HEADER } from '../../../config/header-names.ts';
import { readQuery } from '../../base/query-string.ts';
import { RequestBody } from '../../bodies/request-body.ts';
import { Fault } from '../../errors/fault.ts';
import { REALTIME, subprotocolsOf } from '../../protocols/realtime/realtime.ts';
import { acceptOf } from '../../upstream/upgrade.ts';
import { NO_BILLABLE_UNITS } from '../billable-units.ts';
import type { Exchange } from '../exchange.ts';
import { NO_MEMBERS } from '../identity.ts';
import type { ParsedRequest } from '../parse-request.ts';

export interface Handshake {
  readonly key: string;
  /** That may go upstream. */
  readonly subprotocols: readonly string[];
  /** Of the query; null = none. */
  readonly model: string | null;
}

const NOTHING = {
  ok: true,
  members: [],
  memberCount: 0,
  values: 0,
  open: 0,
  lastValueEnd: 0,
  hasText: false,
} as const;
const KEY = /^[A-Za-z\d+/]{21}[AQgw]==$/;

/** @throws Fault upgrade_required, bad_handshake, duplicate_parameter */
export function readHandshake({ req, res, query }: Exchange): Handshake {
  if (!res.mayUpgrade) {
    const text = 'Realtime sessions are WebSockets: send `Connection: Upgrade` and `Upgrade: websocket`.';
    throw new Fault('upgrade_required', text, { headers: [['upgrade', 'websocket']] });
  }
  if (req.header('sec-websocket-version') !== '13') {
    const text = 'The only version of WebSocket that is served is 13.';
    throw new Fault('upgrade_required', text, { headers: [['sec-websocket-version', '13']] });
  }
  const key = req.header('sec-websocket-key') ?? '';
  if (!KEY.test(key)) throw new Fault('bad_handshake', 'Sec-WebSocket-Key is not the base64 of 16 bytes.');
  const [model, second] = readQuery(query).filter(([name]) => name === 'model');
  if (second !== undefined) {
    const text =
      'The query parameter `model` stands more than once; two servers could read different values.';
    throw new Fault('duplicate_parameter', text, { param: 'model' });
  }
  const offers = req.headers.filter(
    (_, i) => i % 2 === 1 && req.headers[i - 1]?.toLowerCase() === SUBPROTOCOL_HEADER,
  );
  const subprotocols = subprotocolsOf(offers);
  return { key, subprotocols, model: model?.[1] ?? null };
}

/** The call as every other step takes it: its body is empty. @throws Fault missing_model */
export function requestOf({ model }: Handshake): ParsedRequest {
  if (model === null || model === '') {
    const text =
      'The query names no model: connect to /v1/realtime?model=NAME. GET /v1/models lists the names.';
    throw new Fault('missing_model', text, { param: 'model' });
  }
  return {
    endpoint: REALTIME,
    model,
    asked: model,
    bodyModel: null,
    stream: true,
    isBackground: false,
    previousResponse: null,
    isSingle: true,
    choices: 1,
    maxOutput: null,
    statesMaxOutput: false,
    streamOptions: null,
    identityMembers: NO_MEMBERS,
    billable: NO_BILLABLE_UNITS,
    steering: [],
    members: { kind: 'json', peeked: NOTHING },
    body: new RequestBody(Buffer.alloc(0)),
  };
}

/**
 * The answer that opens the session. A browser that offers subprotocols accepts nothing else than one of them.
 * @param chosen by the upstream @param headers of our own, flat
 */
export function switchingProtocols(
  { key, subprotocols }: Handshake,
  chosen: string | null,
  headers: readonly string[],
): string {
  const selected = chosen ?? subprotocols[0];
  const list = [
    'upgrade',
    'websocket',
    'connection',
    'Upgrade',
    'sec-websocket-accept',
    acceptOf(key),
    ...(selected === undefined ? [] : ['sec-websocket-protocol', selected]),
    ...headers,
  ];
  const lines: string[] = [];
  for (let i = 0; i + 1 < list.length; i += 2)
    lines.push(`${list[i] ?? ''}: ${(list[i + 1] ?? '').replace(/[^\t\x20-\x7e\x80-\xff]/g, '_')}\r\n`);
  return `HTTP/1.1 101 Switching Protocols\r\n${lines.join('')}\r\n`;
}
