// Measures the body scan of the proxy in a folder (argv[2]), in a process of its own so that no other code has shaped
// what the compiler knows. Sends what it found over IPC.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { agentBody, smallBody } from './harness/bodies.ts';
import { least } from './harness/quantiles.ts';
import type { Peeked, Wanted } from '../proxy/bodies/members.ts';
import type { Edit } from '../proxy/bodies/splice.ts';

/** Microseconds of one body. */
export interface Scanned {
  readonly body: string;
  readonly bytes: number;
  readonly scanUs: number;
  readonly parseUs: number;
  /** Bytes to string, parse, stringify, string to bytes. */
  readonly recodeUs: number;
  readonly longestUs: number;
}

interface Bodies {
  peek(body: Buffer, wanted: Wanted, maxDepth: number): Peeked;
  splice(body: Buffer, peeked: Peeked & { ok: true }, edits: readonly Edit[]): Buffer;
}

const [folder = '', batchMs = '50'] = process.argv.slice(2);
const from = (path: string): Promise<unknown> => import(pathToFileURL(join(folder, path)).href);
// Older revisions have these files in another folder.
const bodies = existsSync(join(folder, 'proxy/bodies')) ? 'proxy/bodies' : 'proxy/wire';
const { peek } = (await from(`${bodies}/peek.ts`)) as Pick<Bodies, 'peek'>;
const { splice } = (await from(`${bodies}/splice.ts`)) as Pick<Bodies, 'splice'>;

const WANTED: Wanted = {
  names: new Set([
    'model',
    'stream',
    'stream_options',
    'user',
    'safety_identifier',
    'metadata',
    'tags',
    'api_key',
  ]),
  prefixes: ['litellm_'],
};
const BATCHES = 7;

function scan(body: Buffer): Buffer {
  const peeked = peek(body, WANTED, 128);
  if (!peeked.ok) throw new Error(peeked.detail);
  const edits = peeked.members.flatMap((member): Edit[] => {
    if (member.name === 'model') return [{ kind: 'replace', member, value: '"upstream-model"' }];
    return member.name === 'user' ? [{ kind: 'remove', member }] : [];
  });
  return splice(body, peeked, edits);
}

function rewrite(text: string): string {
  const body = JSON.parse(text) as Record<string, unknown>;
  body['model'] = 'upstream-model';
  delete body['user'];
  return JSON.stringify(body);
}

/** Microseconds per call of the best batch, and the longest single call after the first batch. */
function timed(act: () => unknown, warm: number): { each: number; longest: number } {
  const times: number[] = [];
  for (let i = 0; i < warm; i += 1) act();
  const endsAt = performance.now() + Number(batchMs);
  let longest = 0;
  do {
    const startedAt = performance.now();
    act();
    times.push(performance.now() - startedAt);
    longest = Math.max(longest, times[times.length - 1] as number);
  } while (performance.now() < endsAt);
  const mean = times.reduce((a, b) => a + b, 0) / times.length;
  return { each: mean * 1000, longest: longest * 1000 };
}

function measure(name: string, body: Buffer): Scanned {
  const text = body.toString();
  if (scan(body).toString() !== rewrite(text)) throw new Error(`the two ways differ for ${name}`);
  const [scans, parses, recodes]: [number[], number[], number[]] = [[], [], []];
  let longestUs = 0;
  for (let i = 0; i < BATCHES; i += 1) {
    const one = timed(() => scan(body), i === 0 ? 50 : 2);
    if (i > 0) longestUs = Math.max(longestUs, one.longest);
    scans.push(one.each);
    parses.push(timed(() => rewrite(text), i === 0 ? 50 : 2).each);
    recodes.push(timed(() => Buffer.from(rewrite(body.toString())), 2).each);
  }
  const bytes = body.length;
  return {
    body: name,
    bytes,
    scanUs: least(scans),
    parseUs: least(parses),
    recodeUs: least(recodes),
    longestUs,
  };
}

const found = [
  measure('1 KB question', smallBody()),
  measure('440 KB of code', agentBody('code')),
  measure('440 KB of prose', agentBody('prose')),
  measure('4 MB of code', agentBody('code', 4 * 1024 * 1024)),
  measure('4 MB of prose', agentBody('prose', 4 * 1024 * 1024)),
];
process.send?.(found, () => process.exit());
