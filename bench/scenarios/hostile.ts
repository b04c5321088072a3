// Bodies and streams that are built to be slow: what a byte of them costs against a byte of an ordinary one.
import { requestOf, smallBody } from '../harness/bodies.ts';
import { fixed, JSON_ANSWER, measureCpu, type Measured } from '../harness/measure.ts';
import { BARE, MODEL, type Running } from '../harness/peers.ts';
import type { Bench, Scenario, Table } from '../harness/scenario.ts';
import type { Wish } from '../upstream.ts';

const MEGABYTE = 1024 * 1024;

interface Case {
  readonly name: string;
  readonly bytes: number;
  /** Requests in full mode. */
  readonly requests: number;
  request(peer: Pick<Running, 'headers'>): Buffer;
}

const WISH = JSON.stringify(JSON.stringify({ kind: 'json' } satisfies Wish));
const wrapped = (value: string): Buffer =>
  Buffer.from(`{"model":"${MODEL}","messages":[{"role":"system","content":${WISH}}],"x":${value}}`);
const filled = (unit: string): string => unit.repeat(Math.floor(MEGABYTE / Buffer.byteLength(unit)));
const asString = (unit: string): Buffer => wrapped(`"${filled(unit)}"`);
const asList = (unit: string): Buffer => wrapped(`[${filled(`${unit},`)}${unit}]`);

function bodyCase(name: string, body: Buffer): Case {
  return { name, bytes: body.length, requests: 200, request: (peer) => requestOf(body, peer) };
}

function chunkedCase(name: string, body: Buffer, size: number, requests: number): Case {
  const chunks: Buffer[] = [];
  for (let i = 0; i < body.length; i += size) {
    const part = body.subarray(i, i + size);
    chunks.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n'));
  }
  const framed = Buffer.concat([...chunks, Buffer.from('0\r\n\r\n')]);
  return { name, bytes: framed.length, requests, request: (peer) => requestOf(body, peer, framed) };
}

/** Bytes are those of the answer's text; one-byte chunks count six on the wire. */
function floodCase(
  name: string,
  lines: number,
  shape: (Wish & { kind: 'flood' })['shape'],
  requests: number,
): Case {
  const bytes = lines * 41 * (shape === 'one-byte' ? 6 : 1);
  const body = smallBody({ kind: 'flood', lines, shape });
  return { name, bytes, requests, request: (peer) => requestOf(body, peer) };
}

function requestCases(): Case[] {
  const prose = asString('The river kept its own slow hours. ');
  return [
    bodyCase('prose, the normal case', prose),
    bodyCase('escaped quotes', asString('\\"')),
    bodyCase('escaped backslashes', asString('\\\\')),
    bodyCase('\\u escapes', asString('\\u0022')),
    bodyCase('three-byte characters', asString('\u20ac')),
    bodyCase('empty strings', asList('""')),
    bodyCase('digits', asList('1')),
    bodyCase('empty lists', asList('[]')),
    bodyCase('members', wrapped(`{${filled('"a":1,')}"a":1}`)),
    bodyCase('white space', wrapped(`${filled(' ')}1`)),
    chunkedCase('prose in chunks of 16 KB', prose, 16_384, 100),
    chunkedCase('prose in one-byte chunks', wrapped(`"${'x'.repeat(100_000)}"`), 1, 20),
  ];
}

function answerCases(): Case[] {
  return [
    floodCase('events, the normal case', 100_000, 'events', 20),
    floodCase('100,000 lines, one event', 100_000, 'endless', 20),
    floodCase('events in one-byte chunks', 5_000, 'one-byte', 10),
  ];
}

async function tableOf(
  bench: Bench,
  title: string,
  cases: readonly Case[],
  peers: readonly Running[],
): Promise<Table> {
  const all: (readonly Measured[])[] = [];
  for (const one of cases) {
    const requests = Math.max(4, Math.ceil(one.requests / (bench.wanted.quick ? 10 : 1)));
    const load = (peer: Pick<Running, 'headers'>) => ({
      connections: 4,
      requests,
      request: one.request(peer),
      expected: JSON_ANSWER,
    });
    const measured = await measureCpu(bench, {
      peers,
      upstreamPort: null,
      unitsPerRequest: one.bytes,
      load,
    }).catch((error: unknown) => {
      throw new Error(`${one.name}: ${(error as Error).message}`, { cause: error });
    });
    all.push(measured);
  }
  const perByte = (i: number, peer: number): number => (all[i]?.[peer]?.cpuUs ?? NaN) * 1000;
  return {
    title: `${title}, best of ${bench.wanted.rounds}`,
    columns: ['', 'bytes', ...peers.flatMap(({ name }) => [`${name}: ns per byte`, 'x normal'])],
    rows: cases.map(({ name, bytes }, i) => [
      name,
      String(bytes),
      ...peers.flatMap((_, peer) => [
        fixed(perByte(i, peer), 2),
        fixed(perByte(i, peer) / perByte(0, peer), 1),
      ]),
    ]),
    notes: [],
  };
}

export const hostile: Scenario = {
  name: 'hostile',
  about: 'bodies and streams built to be slow: cost per byte against normal ones',
  run: async (bench) => {
    const upstreamPort = await bench.upstream('asked');
    const peers = await bench.start(bench.peers([BARE]), upstreamPort);
    const requests = await tableOf(
      bench,
      'Hostile bodies of 1 MB, CPU per byte on the wire',
      requestCases(),
      peers,
    );
    const answers = await tableOf(bench, 'Hostile answers, CPU per byte on the wire', answerCases(), peers);
    return [requests, { ...answers, notes: bench.notes }];
  },
};
