// A stand-in for a gateway, as cheap as Node can make one: raw sockets and prepared bytes. With `json` it never looks
// at a body; with `asked` the first message of the body says what to answer.
import { createServer, type Socket } from 'node:net';
import { MessageReader } from './harness/message-reader.ts';

/** The text of the first message of a request body. */
export type Wish =
  | { readonly kind: 'json' }
  /** `events` counts `[DONE]`; a stamped event carries the time of its writing, in microseconds of CLOCK_MONOTONIC. */
  | { readonly kind: 'stream'; readonly events: number; readonly gapMs: number; readonly stamped: boolean }
  /** `lines` lines at once: as whole events, as one event, or as whole events in one-byte chunks. */
  | { readonly kind: 'flood'; readonly lines: number; readonly shape: 'events' | 'endless' | 'one-byte' };

const USAGE = { prompt_tokens: 12, completion_tokens: 40, total_tokens: 52 };
const BASE = { id: 'chatcmpl-bench', created: 1700000000, model: 'bench' };
const WHOLE = JSON.stringify({
  ...BASE,
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: 'x'.repeat(280) }, finish_reason: 'stop' }],
  usage: USAGE,
});
const JSON_ANSWER = Buffer.from(
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${WHOLE.length}\r\n\r\n${WHOLE}`,
);
const STREAM_HEAD =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n';
const END = '0\r\n\r\n';

const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
const event = (choices: readonly object[], more: object = {}): string =>
  `data: ${JSON.stringify({ ...BASE, object: 'chat.completion.chunk', choices, ...more })}\n\n`;
const WORD_EVENT = event([{ index: 0, delta: { content: ' word' }, finish_reason: null }]);
const WORD = Buffer.from(chunk(WORD_EVENT));
const LAST_EVENTS = [
  event([{ index: 0, delta: {}, finish_reason: 'stop' }]),
  event([], { usage: USAGE }),
  'data: [DONE]\n\n',
];
const LAST = Buffer.from(LAST_EVENTS.map(chunk).join('') + END);
const stampedWord = (): string =>
  chunk(event([{ index: 0, delta: { content: ' word' } }], { t: Number(process.hrtime.bigint() / 1000n) }));

function stream(socket: Socket, wish: Wish & { kind: 'stream' }): void {
  const words = Math.max(0, wish.events - LAST_EVENTS.length);
  let sent = 0;
  const word = (): Buffer | string => (wish.stamped ? stampedWord() : WORD);
  socket.cork();
  socket.write(STREAM_HEAD);
  const next = (): void => {
    if (sent < words) {
      socket.write(word());
      sent += 1;
    } else {
      stop();
      socket.write(LAST);
    }
  };
  const timer = setInterval(next, wish.gapMs);
  const stop = (): void => {
    clearInterval(timer);
    socket.removeListener('close', stop);
  };
  socket.on('close', stop);
  next();
  socket.uncork();
}

function floodOf({ lines, shape }: Wish & { kind: 'flood' }): Buffer {
  const line = `data: ${'x'.repeat(34)}\n`;
  const last = LAST_EVENTS.join('');
  const events = WORD_EVENT.repeat(Math.ceil((lines * line.length) / WORD_EVENT.length));
  const text = shape === 'endless' ? `${line.repeat(lines)}\n${last}` : events + last;
  const framed = shape === 'one-byte' ? Array.from(text, chunk).join('') : chunk(text);
  return Buffer.from(STREAM_HEAD + framed + END);
}

const onlyJson = process.argv[2] === 'json';
const floods = new Map<string, Buffer>();

function wishOf(body: string): Wish {
  const { messages } = JSON.parse(body) as { messages: [{ content: string }] };
  return JSON.parse(messages[0].content) as Wish;
}

function answer(socket: Socket, body: string): void {
  // A gateway may look its upstream over while it starts (LiteLLM asks for /v1/models).
  const wish: Wish = onlyJson || body === '' ? { kind: 'json' } : wishOf(body);
  if (wish.kind === 'json') socket.write(JSON_ANSWER);
  else if (wish.kind === 'stream') stream(socket, wish);
  else {
    const key = JSON.stringify(wish);
    const bytes = floods.get(key) ?? floodOf(wish);
    floods.set(key, bytes);
    socket.write(bytes);
  }
}

const server = createServer({ noDelay: true }, (socket) => {
  let text = '';
  const reader = new MessageReader({
    onHead: () => (text = ''),
    onBody: (bytes) => {
      if (!onlyJson) text += bytes.toString('latin1');
    },
    onEnd: () => answer(socket, text),
  });
  socket.on('data', (bytes) => reader.push(bytes));
  socket.on('error', () => socket.destroy());
});
server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () => {
  const address = server.address();
  if (typeof address === 'object' && address !== null) process.send?.({ port: address.port });
});
process.on('disconnect', () => process.exit());
