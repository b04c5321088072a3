// Realtime sessions of the demo gateway: a WebSocket that answers `response.create` with a text and its usage. Knows as much of
// RFC 6455 as that takes: text messages and close frames of well-behaved clients.
import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

type Event = Readonly<Record<string, unknown>>;

const ACCEPT_GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const [TEXT, CLOSE, PING, PONG] = [1, 8, 9, 10];
const ANSWER = 'This is the demo gateway. ';
const PATH = /\/realtime(?:\?|$)/;

export const isRealtime = ({ url }: Pick<IncomingMessage, 'url'>): boolean => PATH.test(url ?? '');

/** Answers the handshake, and what follows. */
export function serveRealtime(req: IncomingMessage, socket: Duplex): void {
  socket.on('error', () => undefined);
  const target = req.url ?? '';
  const key = req.headers['sec-websocket-key'];
  if (key === undefined) {
    socket.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n');
    return;
  }
  const accept = createHash('sha1').update(`${key}${ACCEPT_GUID}`).digest('base64');
  const offered = req.headers['sec-websocket-protocol']?.split(',')[0]?.trim();
  const chosen = offered === undefined ? '' : `sec-websocket-protocol: ${offered}\r\n`;
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: ${accept}\r\n${chosen}\r\n`,
  );
  const model = new URL(target, 'http://demo').searchParams.get('model') ?? 'demo';
  const session = { id: 'sess_demo', object: 'realtime.session', type: 'realtime', model };
  const say = (event: Event): void => void socket.write(frameOf(TEXT, Buffer.from(JSON.stringify(event))));
  say({ type: 'session.created', event_id: 'event_demo', session });
  let waiting: Buffer = Buffer.alloc(0);
  let message: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => {
    waiting = Buffer.concat([waiting, chunk]);
    for (let read = readFrame(waiting); read !== null; read = readFrame(waiting)) {
      waiting = waiting.subarray(read.bytes);
      if (read.opcode === CLOSE) return void socket.end(frameOf(CLOSE, read.payload.subarray(0, 2)));
      if (read.opcode === PING) socket.write(frameOf(PONG, read.payload));
      if (read.opcode > TEXT) continue;
      message.push(read.payload);
      if (!read.isFinal) continue;
      for (const event of answersTo(Buffer.concat(message).toString(), session)) say(event);
      message = [];
    }
  });
}

function answersTo(text: string, session: Event): readonly Event[] {
  const event = parsed(text);
  switch (event?.['type']) {
    case 'session.update':
      return [{ type: 'session.updated', session }];
    case 'conversation.item.create':
      return [{ type: 'conversation.item.created', item: event['item'] }];
    case 'response.create':
      return responseOf();
    default:
      return [];
  }
}

function responseOf(): readonly Event[] {
  const response = { id: 'resp_demo', object: 'realtime.response', status: 'in_progress', output: [] };
  const at = { response_id: 'resp_demo', item_id: 'item_demo', output_index: 0, content_index: 0 };
  const content = [{ type: 'output_text', text: ANSWER }];
  const item = { id: 'item_demo', type: 'message', role: 'assistant', status: 'completed', content };
  const usage = {
    total_tokens: 16,
    input_tokens: 9,
    output_tokens: 7,
    input_token_details: { text_tokens: 9, audio_tokens: 0, cached_tokens: 0 },
    output_token_details: { text_tokens: 7, audio_tokens: 0 },
  };
  return [
    { type: 'response.created', response },
    { type: 'response.output_text.delta', ...at, delta: ANSWER },
    { type: 'response.output_text.done', ...at, text: ANSWER },
    { type: 'response.done', response: { ...response, status: 'completed', output: [item], usage } },
  ];
}

function parsed(text: string): Event | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Event) : null;
  } catch {
    return null;
  }
}

interface Frame {
  readonly opcode: number;
  readonly isFinal: boolean;
  readonly payload: Buffer;
  /** Of the whole frame. */
  readonly bytes: number;
}

/** null: it is not whole yet. */
function readFrame(bytes: Buffer): Frame | null {
  if (bytes.length < 2) return null;
  const [first = 0, second = 0] = bytes;
  const short = second & 0x7f;
  const headerBytes = 2 + ({ 126: 2, 127: 8 }[short] ?? 0) + 4;
  if (bytes.length < headerBytes) return null;
  let length = short;
  if (short === 126) length = bytes.readUInt16BE(2);
  if (short === 127) length = Number(bytes.readBigUInt64BE(2));
  if (bytes.length < headerBytes + length) return null;
  const mask = bytes.subarray(headerBytes - 4, headerBytes);
  const masked = bytes.subarray(headerBytes, headerBytes + length);
  const payload = Buffer.from(masked.map((byte, i) => byte ^ (mask[i & 3] ?? 0)));
  return { opcode: first & 0x0f, isFinal: (first & 0x80) !== 0, payload, bytes: headerBytes + length };
}

function frameOf(opcode: number, payload: Buffer): Buffer {
  const isLong = payload.length > 125;
  const head = Buffer.alloc(isLong ? 4 : 2);
  head[0] = 0x80 | opcode;
  head[1] = isLong ? 126 : payload.length;
  if (isLong) head.writeUInt16BE(payload.length, 2);
  return Buffer.concat([head, payload]);
}
