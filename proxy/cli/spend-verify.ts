// `throughline spend verify`: do journal and store agree? Exit code 1 when not.
import { parseArgs } from 'node:util';
import { grouped } from '../spend/report/text-table.ts';
import { verify, type Verified } from '../spend/report/verify.ts';
import { dataDirOf, daysBetween, STORE_OPTIONS, withReader } from './spend-source.ts';
import type { Terminal } from './terminal.ts';

const FINDINGS_SHOWN = 50;

const OPTIONS = { ...STORE_OPTIONS, since: { type: 'string' }, until: { type: 'string' } } as const;

/** Runs the command; the exit code. */
export async function spendVerify(args: readonly string[], terminal: Terminal): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: OPTIONS });
  const { since, until } = values;
  const all = since === undefined && until === undefined;
  const range = all ? {} : daysBetween(since ?? '1970-01-01', until, Date.now());
  const dataDir = dataDirOf(values, terminal);
  return withReader(values, terminal, async (reader) => {
    const found = await verify(dataDir, reader, range);
    terminal.out(textOf(found, dataDir, reader.shown));
    return found.findings.length === 0 ? 0 : 1;
  });
}

function textOf(found: Verified, dataDir: string, shown: string): string {
  const { findings, daysWithoutRows: alone } = found;
  const lines = [
    `journals in ${dataDir}: ${found.journals}; settled calls ${grouped(found.shipped)} taken over, ${grouped(found.waiting)} waiting; ${grouped(found.open)} under way`,
    `${shown}: ${grouped(found.rows)} rows of ${grouped(found.days)} days, compared with their daily sums`,
    ...(alone === 0
      ? []
      : [
          `${grouped(alone)} days before the oldest row have sums alone: their rows were removed by retention`,
        ]),
    ...findings.slice(0, FINDINGS_SHOWN).map((finding) => `WRONG: ${finding}`),
    ...(findings.length > FINDINGS_SHOWN ? [`and ${findings.length - FINDINGS_SHOWN} more`] : []),
    findings.length === 0 ? 'journal and store agree: no gap, no double' : 'journal and store DO NOT agree',
  ];
  return `${lines.join('\n')}\n`;
}
