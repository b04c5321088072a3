// Request bodies and the bytes around them. Deterministic: the same bytes in every run and on every machine.
import { MODEL, type Running } from './peers.ts';
import type { Wish } from '../upstream.ts';

const PATH = '/v1/chat/completions';

/** A whole request; `extra` are header lines of one peer. */
export function requestOf(
  body: Buffer,
  { headers }: Pick<Running, 'headers'>,
  framing?: Buffer,
  path = PATH,
): Buffer {
  const length = framing === undefined ? `content-length: ${body.length}` : 'transfer-encoding: chunked';
  const head =
    `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: application/json\r\nauthorization: Bearer sk-bench\r\n` +
    `content-type: application/json\r\nuser-agent: OpenAI/JS 7.55.0\r\nx-stainless-lang: js\r\n` +
    `x-litellm-session-id: 0190aaaa-bbbb-7ccc-8ddd-eeeeffff0000\r\n${headers}${length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), framing ?? body]);
}

/** A GET without a body. */
export function getOf(path: string): Buffer {
  return Buffer.from(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer sk-bench\r\n\r\n`);
}

/** 1 KB: one question. With a wish, what the upstream is asked to answer, in a place that every gateway hands on. */
export function smallBody(wish?: Wish): Buffer {
  const streamed = wish?.kind === 'json' || wish === undefined ? {} : STREAMED;
  const asked = wish === undefined ? [] : [{ role: 'system', content: JSON.stringify(wish) }];
  const messages = [...asked, { role: 'user', content: 'lorem ipsum dolor sit amet '.repeat(34) }];
  return Buffer.from(JSON.stringify({ model: MODEL, ...streamed, messages }));
}
// Usage is asked for, so that the proxy keeps no event from the client and all peers relay the same events.
const STREAMED = { stream: true, stream_options: { include_usage: true } };

/** Source as agents send it: in JSON an escape every seven bytes or so. */
const CODE = `\tif (map["key"] === "C:\\\\dir\\\\") {\n\t\treturn run("a", 'b', {"x": "\\n"});\n\t}\n\t// "quoted", see \\d+\n`;
/** One escape in 400 bytes. */
const PROSE = `${'The river kept its own slow hours, and the town had long since agreed to keep them too. '.repeat(4)}\n`;

export type Kind = 'code' | 'prose';

/** A conversation of `bytes` or a little more: a system message and turns of 11 KB, with a user to remove. */
export function agentBody(kind: Kind, bytes = 440 * 1024): Buffer {
  const unit = kind === 'code' ? CODE : PROSE;
  const turn = unit.repeat(Math.ceil(11_264 / JSON.stringify(unit).length));
  const count = Math.ceil(bytes / (JSON.stringify(turn).length + 32));
  const messages = Array.from({ length: count }, (_, i) => ({
    role: i === 0 ? 'system' : i % 2 === 1 ? 'user' : 'assistant',
    content: turn,
  }));
  return Buffer.from(JSON.stringify({ model: MODEL, messages, temperature: 0.2, user: 'end-user-1' }));
}

/** Bytes of the body that are backslashes which open an escape, per byte. */
export function escapesPerByte(body: Buffer): number {
  return (body.toString('latin1').match(/\\./g)?.length ?? 0) / body.length;
}
