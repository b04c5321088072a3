// One conversation over a bare socket, bounded in time: what a client of any manners would see, byte by byte.
import { connect } from 'node:net';

export interface RawResponse {
  readonly status: number;
  /** Lower-case names; of several the last. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface Conversation {
  /** Final answers in order. */
  readonly responses: readonly RawResponse[];
  /** Statuses of interim answers (100, 103). */
  readonly interim: readonly number[];
  /** What came and was no answer. */
  readonly rest: string;
  /** The peer neither answered nor closed in time. */
  readonly hung: boolean;
}

export interface ConverseOptions {
  /** The client ends its side after so many answers. Default 1. */
  readonly responses?: number;
  /** Ends the client's side as soon as all is sent. */
  readonly halfClose?: boolean;
  /** Sent when `100 Continue` comes. */
  readonly onContinue?: string | Buffer;
  /** Answers to HEAD: a content-length, no body. */
  readonly headOnly?: boolean;
  /** Longest time to wait for an answer or the end, for peers that may never answer. Default 9 minutes. */
  readonly withinMs?: number;
}

/** Sends `bytes`, waits for the answers, ends, and waits for the peer's end. Never rejects. */
export function converse(
  port: number,
  bytes: string | Buffer,
  options: ConverseOptions = {},
): Promise<Conversation> {
  const {
    responses: wanted = 1,
    halfClose = false,
    onContinue = '',
    headOnly = false,
    withinMs = 540_000,
  } = options;
  return new Promise((resolve) => {
    let text = '';
    let ended = halfClose;
    let hung = false;
    let continued = false;
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
      if (halfClose) socket.end();
    });
    const timer = setTimeout(() => {
      hung = true;
      socket.destroy();
    }, withinMs);
    socket.setEncoding('latin1');
    socket.on('data', (part: string) => {
      text += part;
      const { responses, interim } = readResponses(text, headOnly);
      if (!continued && onContinue !== '' && interim.includes(100)) {
        continued = true;
        socket.write(onContinue);
      }
      if (!ended && responses.length >= wanted) {
        ended = true;
        socket.end();
      }
    });
    socket.on('error', () => undefined); // a reset is an end, too
    socket.on('close', () => {
      clearTimeout(timer);
      resolve({ ...readResponses(text, headOnly), hung });
    });
  });
}

function readResponses(text: string, headOnly: boolean): Omit<Conversation, 'hung'> {
  const responses: RawResponse[] = [];
  const interim: number[] = [];
  let rest = text;
  for (;;) {
    const headEnd = rest.indexOf('\r\n\r\n');
    const status = /^HTTP\/1\.1 (\d{3}) [^\r\n]*\r\n/.exec(rest);
    if (headEnd < 0 || status === null) return { responses, interim, rest };
    const lines = rest.slice(status[0].length, Math.max(status[0].length, headEnd)).split('\r\n');
    const headers = Object.fromEntries(
      lines
        .filter((line) => line.includes(':'))
        .map((line) => {
          const colon = line.indexOf(':');
          return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
        }),
    );
    const bodyEnd = headEnd + 4 + (headOnly ? 0 : Number(headers['content-length'] ?? 0));
    if (rest.length < bodyEnd) return { responses, interim, rest };
    if (status[1]?.startsWith('1') === true) interim.push(Number(status[1]));
    else responses.push({ status: Number(status[1]), headers, body: rest.slice(headEnd + 4, bodyEnd) });
    rest = rest.slice(bodyEnd);
  }
}
