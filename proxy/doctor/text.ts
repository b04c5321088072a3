// A run as text: passes folded into a count, a block for each finding, the verdict last. Pure.
import type { Level } from './code-rule.ts';
import { AREAS, type Area } from './finding.ts';
import type { Report } from './report.ts';

interface TextStyle {
  readonly colours: boolean;
  /** Each pass on a line of its own. */
  readonly verbose: boolean;
  /** Longer texts are wrapped; Infinity = never, for programs that read lines. */
  readonly columns: number;
}

type Paint = (text: string, colour: keyof typeof COLOURS) => string;

const COLOURS = { green: 32, yellow: 33, red: 31, grey: 90, bold: 1, cyan: 36 } as const;
const LEVEL_COLOURS: Readonly<Record<Level, keyof typeof COLOURS>> = {
  error: 'red',
  warning: 'yellow',
  info: 'cyan',
};
const WIDTH = 9;
const LABEL = 8;
const HEADS: Readonly<Record<Area, string>> = {
  machine: 'machine',
  configuration: 'configuration',
  data: 'data',
  proxy: 'running proxy',
  gateway: 'gateways',
  call: 'calls',
};

export function reportText(report: Report, { colours, verbose, columns }: TextStyle): string {
  const paint: Paint = (text, colour) => (colours ? `\u001b[${COLOURS[colour]}m${text}\u001b[0m` : text);
  const blocks = AREAS.map((area) => areaText(area, report, { verbose, columns, paint })).filter(
    (text) => text !== '',
  );
  return `${blocks.join('\n')}\n${verdictText(report, paint)}\n`;
}

interface Look {
  readonly verbose: boolean;
  readonly columns: number;
  readonly paint: Paint;
}

function areaText(area: Area, report: Report, look: Look): string {
  const lines = [passes(area, report, look), found(area, report, look), skips(area, report, look)].join('');
  return lines === '' ? '' : `${look.paint(HEADS[area], 'bold')}\n${lines}`;
}

/** Breaks at blanks; what has none stays whole. */
function wrapped(text: string, columns: number, indent: string): string {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > columns - indent.length) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line].join(`\n${indent}`);
}

function passes(area: Area, report: Report, { verbose, paint }: Look): string {
  const own = report.passed.filter((one) => one.area === area);
  if (own.length === 0) return '';
  if (verbose)
    return own
      .map(
        ({ check, subject, seen }) =>
          `  ${paint('ok'.padEnd(WIDTH), 'green')}${subject}: ${check}: ${seen}\n`,
      )
      .join('');
  return [...Map.groupBy(own, ({ subject }) => subject)]
    .map(([subject, checks]) => {
      const names = [...new Set(checks.map(({ check }) => check))].join(', ');
      const count = `${checks.length} ${checks.length === 1 ? 'check' : 'checks'}`;
      return `  ${paint('ok'.padEnd(WIDTH), 'green')}${subject}: ${count} ${paint(`(${names})`, 'grey')}\n`;
    })
    .join('');
}

function found(area: Area, report: Report, { columns, paint }: Look): string {
  const indent = ' '.repeat(2 + WIDTH);
  return report.findings
    .filter((one) => one.area === area)
    .map(({ level, code, hop, subject, place, seen, meaning, fix }) => {
      const head = [`${code} (${hop})`, place, subject].filter((text) => text !== null).join('  ');
      const rows = [
        ['seen', seen],
        ['means', meaning],
        ['fix', fix],
      ] as const;
      const body = rows
        .map(
          ([label, text]) =>
            `${indent}${paint(label.padEnd(LABEL), 'grey')}${wrapped(text, columns, `${indent}${' '.repeat(LABEL)}`)}\n`,
        )
        .join('');
      return `  ${paint(level.padEnd(WIDTH), LEVEL_COLOURS[level])}${paint(head, 'bold')}\n${body}`;
    })
    .join('');
}

/** Those with the same reason are one line. */
function skips(area: Area, report: Report, { columns, paint }: Look): string {
  const own = report.skipped.filter((one) => one.area === area);
  return [...Map.groupBy(own, ({ check, because }) => `${check}: skipped, because ${because}`)]
    .map(([text, all]) => {
      const whose = all.length > 1 ? `${all.length} times` : (all[0]?.subject ?? '');
      return `  ${paint(`${'-'.padEnd(WIDTH)}${wrapped(`${whose}: ${text}`, columns, ' '.repeat(2 + WIDTH))}`, 'grey')}\n`;
    })
    .join('');
}

function verdictText({ summary, verdict, counts }: Report, paint: Paint): string {
  const colour = { ok: 'green', warnings: 'yellow', errors: 'red' } as const;
  const muted = counts.muted === 0 ? '' : `, ${counts.muted} muted`;
  return `${paint('verdict', 'bold')}  ${paint(summary, colour[verdict])} (${counts.passed} passed, ${counts.skipped} skipped${muted})`;
}
