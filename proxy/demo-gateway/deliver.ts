// Sends a reply with the delays and failures that the behaviours select. The only file that waits or cuts a connection. A
// peer that leaves ends every wait at once.
import type { ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { constants, createGzip, gzip } from 'node:zlib';
import type { BehaviourName } from './behaviours.ts';
import type { Reply } from './reply.ts';

/** The gateway's clocks, milliseconds. */
export interface DemoClocks {
  /** `slow`: before the first byte; `slow-stream`: before each event. */
  readonly slowMs: number;
  /** `interval`: between two events. */
  readonly eventIntervalMs: number;
  /** `stall`, `silent`: silence after which the gateway closes the connection. */
  readonly stallMs: number;
}

/** Where a reply goes. */
export interface ReplyTarget {
  readonly res: ServerResponse;
  readonly behaviours: ReadonlySet<BehaviourName>;
  readonly clocks: DemoClocks;
  /** Settles when release() is called. */
  readonly released: () => Promise<void>;
  /** Tells that the gateway itself ends the connection early. */
  readonly onCut: () => void;
}

type Pieces = readonly (string | Buffer)[];

/** Waits as the behaviours select before the reply; false: there will be no reply. */
export async function beforeReply(target: ReplyTarget): Promise<boolean> {
  const { res, behaviours, clocks } = target;
  if (behaviours.has('hold')) await Promise.race([target.released(), closed(res)]);
  if (behaviours.has('slow')) await pause(res, clocks.slowMs);
  if (behaviours.has('silent')) {
    await pause(res, clocks.stallMs);
    await cut(target);
  } else if (behaviours.has('drop')) await cut(target);
  return !res.destroyed && !behaviours.has('silent') && !behaviours.has('drop');
}

/** Sends the reply at once: one write for a whole body, one per frame for a stream. */
export async function send(res: ServerResponse, reply: Reply): Promise<void> {
  const { body } = reply;
  if (typeof body === 'string' || Buffer.isBuffer(body)) {
    res
      .writeHead(reply.status, [...reply.headers, 'content-length', String(Buffer.byteLength(body))])
      .end(body);
    return;
  }
  res.writeHead(reply.status, [...reply.headers]);
  for (const frame of body) {
    if (!res.write(frame) && !(await drained(res))) return;
  }
  res.end();
}

/** Sends a good reply in the way that the behaviours select. */
export async function sendWithBehaviours(target: ReplyTarget, reply: Reply): Promise<void> {
  const { res, behaviours, clocks } = target;
  const isStream = Array.isArray(reply.body);
  const isHalved = !isStream && (behaviours.has('cut-clean') || behaviours.has('malformed'));
  const given = [reply.body].flat();
  let pieces: Pieces = isHalved ? given.map((whole) => whole.slice(0, Math.floor(whole.length / 2))) : given;
  const headers = [...reply.headers];
  if (behaviours.has('gzip')) {
    pieces = isStream
      ? await gzipEach(pieces)
      : await Promise.all(pieces.map((piece) => promisify(gzip)(piece)));
    headers.push('content-encoding', 'gzip');
  }
  if (!isStream) {
    pieces = pieces.flatMap(halves);
    headers.push('content-length', String(pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0)));
  }
  if (res.destroyed) return;
  res.writeHead(reply.status, headers);

  if (behaviours.has('header-then-close')) {
    res.flushHeaders();
    await cut(target);
    return;
  }
  const isShort = behaviours.has('cut') || behaviours.has('stall');
  const sent = isShort ? pieces.slice(0, Math.max(1, Math.floor(pieces.length / 2))) : pieces;
  const intervalMs = behaviours.has('interval') ? clocks.eventIntervalMs : 0;
  const waitMs = behaviours.has('slow-stream') ? clocks.slowMs : intervalMs;
  if (behaviours.has('slow-stream')) res.flushHeaders();
  for (const [at, piece] of sent.entries()) {
    if (waitMs > 0 && (at > 0 || behaviours.has('slow-stream'))) await pause(res, waitMs);
    if (!(await write(res, piece, behaviours.has('bytewise')))) return;
  }
  if (!isShort) {
    res.end();
    return;
  }
  if (behaviours.has('stall')) await pause(res, clocks.stallMs);
  await cut(target);
}

async function write(res: ServerResponse, piece: string | Buffer, isBytewise: boolean): Promise<boolean> {
  if (!isBytewise) return !res.destroyed && (res.write(piece) || (await drained(res)));
  for (const byte of Buffer.from(piece)) {
    // Writes of one turn leave in one packet, so each byte takes a turn of its own.
    await new Promise((resolve) => setImmediate(resolve));
    if (res.destroyed || !(res.write(Buffer.of(byte)) || (await drained(res)))) return false;
  }
  return true;
}

/** Each event is flushed, as a server does that compresses an event stream. */
async function gzipEach(pieces: Pieces): Promise<Pieces> {
  const packer = createGzip();
  const packed: Buffer[] = [];
  const take = (): Buffer => (packer.read() as Buffer | null) ?? Buffer.alloc(0);
  for (const piece of pieces) {
    packer.write(piece);
    await new Promise<void>((resolve) => packer.flush(constants.Z_SYNC_FLUSH, resolve));
    packed.push(take());
  }
  packer.end();
  for await (const rest of packer) packed.push(rest as Buffer);
  return packed.filter((piece) => piece.length > 0);
}

function halves(piece: string | Buffer): Pieces {
  const bytes = Buffer.from(piece);
  const middle = Math.ceil(bytes.length / 2);
  return [bytes.subarray(0, middle), bytes.subarray(middle)];
}

/**
 * What was written arrives first, so that a test can say how much the peer saw: Node holds chunked writes until the
 * turn's end, and destroySoon, other than destroy, lets the socket empty itself.
 */
async function cut({ res, onCut }: ReplyTarget): Promise<void> {
  if (res.destroyed) return;
  onCut();
  await new Promise((resolve) => setImmediate(resolve));
  res.socket?.destroySoon();
}

function closed(res: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    if (res.destroyed) resolve();
    else res.once('close', resolve);
  });
}

async function drained(res: ServerResponse): Promise<boolean> {
  await new Promise<void>((resolve) => {
    const done = (): void => {
      res.off('drain', done).off('close', done);
      resolve();
    };
    res.once('drain', done).once('close', done);
    if (res.destroyed) done();
  });
  return !res.destroyed;
}

async function pause(res: ServerResponse, waitMs: number): Promise<void> {
  if (res.destroyed) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      res.off('close', done);
      resolve();
    };
    const timer = setTimeout(done, waitMs);
    res.once('close', done);
  });
}
