// What the proxy does to a body, alone: find the members and change two, against a parse and a serialisation.
import { join } from 'node:path';
import { OURS, ROOT } from '../harness/peers.ts';
import { Program } from '../harness/processes.ts';
import type { Bench, Revision, Scenario } from '../harness/scenario.ts';
import { fixed } from '../harness/measure.ts';
import type { Scanned } from '../scan.ts';

const COLUMNS = [
  '',
  'bytes',
  'peek + splice us',
  'parse + stringify us',
  'ratio',
  'with text decoding',
  'one scan, longest ms',
];

async function rowsOf(bench: Bench, { name, folder }: Revision): Promise<string[][]> {
  const batchMs = bench.wanted.quick ? '20' : '100';
  const program = new Program(
    process.execPath,
    [join(ROOT, 'bench/scan.ts'), folder, batchMs],
    'ignore',
    true,
  );
  try {
    const scanned = await new Promise<readonly Scanned[]>((resolve, reject) => {
      program.child.once('message', (message) => resolve(message as readonly Scanned[]));
      program.child.once('exit', () => reject(new Error(`the scan of ${name} ended early: ${program.text}`)));
    });
    return scanned.map(({ body, bytes, scanUs, parseUs, recodeUs, longestUs }) => [
      name === OURS ? body : `${body}, ${name}`,
      String(bytes),
      fixed(scanUs, 1),
      fixed(parseUs, 1),
      fixed(scanUs / parseUs, 2),
      fixed(scanUs / recodeUs, 2),
      fixed(longestUs / 1000, 2),
    ]);
  } finally {
    program.stop();
  }
}

export const scan: Scenario = {
  name: 'scan',
  about: 'peek + splice of a body against JSON.parse + JSON.stringify',
  run: async (bench) => {
    const revisions = [...bench.wanted.revisions, { name: OURS, folder: ROOT }];
    const rows: string[][] = [];
    for (const revision of revisions) rows.push(...(await rowsOf(bench, revision)));
    const notes = [
      'Ratio: to JSON.parse of a string that is there plus JSON.stringify; with text decoding: bytes to string and back counted too, as a relay needs it.',
      'Best batch of many, interleaved; the longest single scan is what the event loop waits for.',
    ];
    return [
      { title: 'Scan and splice of a body: model replaced, user removed', columns: COLUMNS, rows, notes },
    ];
  },
};
