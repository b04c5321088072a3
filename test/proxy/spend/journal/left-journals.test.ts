// Journals whose workers are no more: whoever comes next takes them over, whatever the number of workers is then.
import { existsSync, mkdirSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { mock } from 'node:test';
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

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

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

t.test(
  'while the store is away a journal is opened once, and taken over when the store is back',
  async (t) => {
    const dataDir = tempDir(t);
    const journals = join(dataDir, 'journal');
    const dirs = ['w1', 'w2'].map((name) => join(journals, name));
    for (const dir of dirs) leave(dir, dir.slice(-2));
    const database = join(dataDir, 'throughline.db');
    mkdirSync(database); // no file can be opened there
    mock.timers.enable({ apis: ['setTimeout'] });
    syncBuiltinESMExports(); // the pause is one of `node:timers/promises`, which modules import by its name
    t.teardown(() => {
      mock.timers.reset();
      syncBuiltinESMExports();
    });
    const { ledger, events } = await ledgerOf(t, dataDir);
    const segments = (): string[][] =>
      dirs.map((dir) => readdirSync(dir).filter((name) => name.startsWith('journal-')));
    const after = async (tries: number): Promise<void> => {
      await events.times('journal_left', tries * dirs.length);
      await turn(); // the pause has begun
    };
    await after(1);
    const opened = segments();
    t.same(
      opened,
      dirs.map(() => ['journal-00000001.log', 'journal-00000002.log']),
    );
    for (const tries of [2, 3, 4]) {
      mock.timers.tick(10_000);
      await after(tries);
    }
    t.same(segments(), opened, 'further attempts leave no further segment');
    t.equal(events.names().filter((name) => name === 'recovered').length, 2);
    t.equal(ledger.status.recovered, 2);

    rmdirSync(database);
    mock.timers.tick(10_000);
    await events.times('journal_taken_over', 2);
    t.same((await allRows(ledger)).map(({ requestId, endReason }) => `${requestId} ${endReason}`).sort(), [
      'w1-open interrupted',
      'w1-whole complete',
      'w2-open interrupted',
      'w2-whole complete',
    ]);
    t.same(readdirSync(journals).sort(), ['id', 'journal-00000001.log', 'reserve']);
  },
);

t.test('a journal that the store never got is let go at the end, whole', async (t) => {
  const dataDir = tempDir(t);
  const left = join(dataDir, 'journal', 'w1');
  leave(left, 'one');
  const database = join(dataDir, 'throughline.db');
  mkdirSync(database);
  const { ledger, events } = await ledgerOf(t, dataDir);
  await events.next('journal_left');
  await ledger.close(CLOSE_MS);
  lockDirectory(left).release();
  rmdirSync(database);
  t.same((await endsOf(t, dataDir)).ends, ['one-open interrupted', 'one-whole complete']);
});

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
