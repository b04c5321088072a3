// Journals whose workers are no more: whoever comes next takes them over, whatever the number of workers is then.
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import { beginLine, settleLine } from '../../../../proxy/spend/record/line.ts';
import { DirectoryLocked, lockDirectory } from '../../../../proxy/spend/store/lock.ts';
import { beginOf, settleOf } from '../record/fixture/records.ts';
import { tempDir } from '../store/fixture/temp-dir.ts';
import { CLOSE_MS, allRows, ledgerOf } from './fixture/ledgers.ts';

/** What a killed worker leaves: one whole call, and one that had begun. */
function leave(dir: string, name: string): void {
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'id'), `${name}\n`);
  const whole = beginOf(`${name}-whole`);
  const lines = beginLine(whole) + settleLine(settleOf(whole)) + beginLine(beginOf(`${name}-open`));
  writeFileSync(join(dir, 'journal-00000001.log'), lines);
}

const endsOf = async (t: Test, dataDir: string, worker?: { number: number; count: number }) => {
  const { ledger, events } = await ledgerOf(t, dataDir, { worker });
  const rows = await allRows(ledger);
  return {
    ledger,
    events,
    ends: rows.map(({ requestId, endReason }) => `${requestId} ${endReason}`).sort(),
  };
};

t.test('a single process takes over what workers left, once', async (t) => {
  const dataDir = tempDir(t);
  const journals = join(dataDir, 'journal');
  leave(join(journals, 'w1'), 'one');
  leave(join(journals, 'w2'), 'two');
  const expected = [
    'one-open interrupted',
    'one-whole complete',
    'two-open interrupted',
    'two-whole complete',
  ];
  const { ledger, events, ends } = await endsOf(t, dataDir);
  t.same(ends, expected, 'readers see them at once');
  t.equal(ledger.status.recovered, 2);
  t.same(readdirSync(journals).sort(), ['id', 'journal-00000001.log', 'reserve'], 'nothing of them is left');
  t.equal(events.names().filter((name) => name === 'journal_taken_over').length, 2);
  await ledger.close(CLOSE_MS);
  t.same((await endsOf(t, dataDir)).ends, expected, 'no row is doubled');
});

t.test(
  'the first worker takes over the single process and workers above the number; the others nothing',
  async (t) => {
    const dataDir = tempDir(t);
    const journals = join(dataDir, 'journal');
    leave(journals, 'alone');
    leave(join(journals, 'w2'), 'two');
    leave(join(journals, 'w3'), 'three');
    const second = await endsOf(t, dataDir, { number: 2, count: 2 });
    t.same(second.ends, ['two-open interrupted', 'two-whole complete']);
    const first = await endsOf(t, dataDir, { number: 1, count: 2 });
    t.same(first.ends, [
      'alone-open interrupted',
      'alone-whole complete',
      'three-open interrupted',
      'three-whole complete',
      'two-open interrupted',
      'two-whole complete',
    ]);
    t.same(readdirSync(journals).sort(), ['w1', 'w2']);
  },
);

t.test('a journal that somebody still holds is left alone, with a word', async (t) => {
  const dataDir = tempDir(t);
  const held = join(dataDir, 'journal', 'w7');
  leave(held, 'seven');
  const lock = lockDirectory(held);
  t.teardown(() => lock.release());
  const { events, ends } = await endsOf(t, dataDir);
  t.same(ends, []);
  t.match(await events.next('journal_left'), { level: 'warn', message: /w7.*is in use by another/ });
  t.ok(existsSync(join(held, 'journal-00000001.log')));
});

t.test('two processes cannot write the journal of one worker', async (t) => {
  const dataDir = tempDir(t);
  await endsOf(t, dataDir, { number: 1, count: 2 });
  await t.rejects(ledgerOf(t, dataDir, { worker: { number: 1, count: 2 } }), DirectoryLocked);
});
