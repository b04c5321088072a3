// A data directory whose journal already holds rows, as a former process left it: for tests of reading that need rows
// of many days, teams and keys.
import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { beginLine, settleLine } from '../../proxy/spend/record/line.ts';
import type { SpendRecord } from '../../proxy/spend/record/record.ts';
import { segmentPath } from '../../proxy/spend/store/segments.ts';

/** Appends whole calls to a segment of the data directory's journal. */
export function leaveJournal(dataDir: string, records: readonly SpendRecord[], segment = 1): void {
  const dir = join(dataDir, 'journal');
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const lines = records.map((record) => beginLine(record) + settleLine(record));
  appendFileSync(segmentPath(dir, segment), lines.join(''));
}
