// Random lives of many bodies that share one memory: edits, failed attempts, hedges, sockets that write late. No attempt
// ever sees its bytes change, no body is seen in another request, and no memory is used again while it is leased.
import fc from 'fast-check';
import t from 'tap';
import { RequestBody, type BodyLease } from '../../../proxy/bodies/request-body.ts';
import { BodyMemory, headroomOf } from '../../../proxy/bodies/body-memory.ts';
import { copyWithCuts, type Cut } from '../../../proxy/bodies/splice.ts';

/** Larger than what Node's own pool serves, so that the memory really is used again. */
const LARGE = 70_000;

/** A body as the server would bring it, out of `memory`; `fill` is its content. */
function bodyIn(memory: BodyMemory, size: number, fill: number): RequestBody {
  const bytes = memory.take(size).fill(fill);
  return new RequestBody(bytes, () => memory.giveBack(bytes));
}

const cut = (start: number, end: number, insert: string): Cut => ({ start, end, insert: [insert] });

t.test('an edit is made in place once; after a lease in a copy', async (t) => {
  const memory = new BodyMemory();
  const body = bodyIn(memory, LARGE, 0x61);
  const { buffer } = body.bytes;
  body.edit([cut(0, 3, 'longer')]);
  t.equal(body.bytes.buffer, buffer, 'nobody else reads it');
  t.equal(body.bytes.toString('latin1', 0, 8), 'longeraa');
  body.restore();
  t.equal(body.bytes.buffer, buffer);
  t.equal(body.bytes.toString('latin1', 0, 8), 'aaaaaaaa');
  body.edit([cut(0, 1, 'b')]);
  const first = body.lease();
  body.restore();
  t.not(body.bytes.buffer, buffer, 'a socket may read the first one still');
  body.edit([cut(0, 1, 'c')]);
  const second = body.lease();
  t.equal(first.bytes.toString('latin1', 0, 3), 'baa');
  t.equal(second.bytes.toString('latin1', 0, 3), 'caa');
});

t.test('only the first lease has room before its bytes', async (t) => {
  const body = bodyIn(new BodyMemory(), LARGE, 0x61);
  t.ok(headroomOf(body.lease().bytes) > 0);
  t.equal(headroomOf(body.lease().bytes), 0, 'the head of one attempt is not written over by another');
});

t.test('memory goes back when the request is over and every lease was returned, once', async (t) => {
  let returned = 0;
  const body = new RequestBody(Buffer.from('{}'), () => (returned += 1));
  const [first, second] = [body.lease(), body.lease()];
  first.giveBack();
  first.giveBack();
  body.release();
  t.equal(returned, 0, 'the second attempt has it still; the first one counts once');
  second.giveBack();
  t.equal(returned, 1);
  body.release();
  second.giveBack();
  t.equal(returned, 1);
});

t.test('a copy needs no lease on the memory of the client', async (t) => {
  let returned = 0;
  const body = new RequestBody(Buffer.from('{"model":"a"}'), () => (returned += 1));
  body.edit([cut(9, 12, '"b"')]); // there is no room before it
  const lease = body.lease();
  body.release();
  t.equal(returned, 1);
  t.equal(String(lease.bytes), '{"model":"b"}');
});

t.test('a change of what is changed is a mistake of the caller', async (t) => {
  const body = new RequestBody(Buffer.from('{}'));
  body.edit([]);
  body.edit([cut(1, 1, ' ')]);
  t.throws(() => body.edit([cut(1, 1, ' ')]), /changed already/);
  body.restore();
  t.equal(String(body.bytes), '{}');
});

t.test('an edit that does not fit into the room is made in a copy', async (t) => {
  const body = bodyIn(new BodyMemory(), LARGE, 0x61);
  const { buffer } = body.bytes;
  const long = 'x'.repeat(headroomOf(body.bytes) + 1);
  body.edit([cut(0, 0, long)]);
  t.not(body.bytes.buffer, buffer);
  body.restore();
  t.equal(body.bytes.buffer, buffer);
  t.equal(headroomOf(body.bytes), long.length - 1, 'and the room is still there');
});

/** What happens next, to which of the bodies. */
const step = fc.record({
  act: fc.constantFrom('open', 'edit', 'restore', 'lease', 'written', 'written late', 'release'),
  which: fc.nat(1_000),
  at: fc.nat(LARGE),
  length: fc.nat(40),
  insert: fc.string({ maxLength: 60 }),
});

interface Life {
  readonly body: RequestBody;
  readonly client: Buffer;
  /** What `bytes` must be. */
  now: Buffer;
  isEdited: boolean;
  isOver: boolean;
}

/** An attempt whose socket has not written everything. */
interface Sending {
  readonly lease: BodyLease;
  readonly sent: Buffer;
}

t.test('whatever happens in whatever order, every reader sees its own bytes', async (t) => {
  let reused = 0;
  fc.assert(
    fc.property(fc.array(step, { minLength: 20, maxLength: 120 }), (steps) => {
      const memory = new BodyMemory();
      const lives: Life[] = [];
      const sending: Sending[] = [];
      const intact = (): boolean =>
        sending.every(({ lease, sent }) => lease.bytes.equals(sent)) &&
        lives.every(({ body, now, isOver }) => isOver || body.bytes.equals(now));
      let fill = 0;
      for (const { act, which, at, length, insert } of steps) {
        const open = lives.filter(({ isOver }) => !isOver);
        const life = open[which % Math.max(1, open.length)];
        if (act === 'open') {
          fill = (fill % 250) + 1;
          const before = memory.freeBytes;
          const body = bodyIn(memory, LARGE + length, fill);
          if (memory.freeBytes < before) reused += 1;
          const client = Buffer.from(body.bytes);
          lives.push({ body, client, now: client, isEdited: false, isOver: false });
        } else if (act === 'written' || act === 'written late') {
          // Also of requests that are over: a hedge that lost may write long after.
          const [one] = sending.splice(which % Math.max(1, sending.length), 1);
          if (one === undefined) continue;
          if (!one.lease.bytes.equals(one.sent)) return false;
          one.lease.giveBack();
        } else if (life === undefined) continue;
        else if (act === 'edit') {
          if (life.isEdited) continue;
          const start = Math.min(at, life.client.length);
          const cuts = [cut(start, Math.min(start + length, life.client.length), insert)];
          life.now = copyWithCuts(life.client, cuts);
          life.isEdited = true;
          life.body.edit(cuts);
        } else if (act === 'restore') {
          life.body.restore();
          life.now = life.client;
          life.isEdited = false;
        } else if (act === 'lease') {
          sending.push({ lease: life.body.lease(), sent: Buffer.from(life.now) });
        } else {
          life.body.release();
          life.isOver = true;
        }
        if (!intact()) return false;
      }
      return true;
    }),
    { numRuns: 60 },
  );
  t.ok(reused > 0, 'memory was really used again');
});
