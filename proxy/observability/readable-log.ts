// The log for people: one short line for each JSON line, on a terminal. Programs get the JSON itself. Made by hand: it
// is one function, and pino-pretty brings 15 packages.
import { styleText } from 'node:util';
import type { DestinationStream } from 'pino';

type Line = Readonly<Record<string, unknown>>;
type Style = Parameters<typeof styleText>[0];

const LEVELS: Readonly<Record<number, readonly [word: string, style: Style]>> = {
  20: ['debug', 'dim'],
  30: ['info', 'green'],
  40: ['warn', 'yellow'],
  50: ['error', 'red'],
  60: ['fatal', 'red'],
};
/** What every line has; all else is written as key=value. */
const FRAME = new Set(['level', 'time', 'msg', 'err']);
const SECOND = /T(\d\d:\d\d:\d\d)/;
/** Texts of clients and upstreams must not steer the terminal. */
const CONTROL = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** Where the log writes JSON lines, which come out as readable ones. */
export function readableLog(write: (text: string) => void, isColoured: boolean): DestinationStream {
  const styled = (style: Style, text: string): string =>
    isColoured ? styleText(style, text, { validateStream: false }) : text;
  return {
    write: (json) => {
      const line = JSON.parse(json) as Line;
      const [word, style] = LEVELS[Number(line['level'])] ?? ['', 'reset'];
      const time = SECOND.exec(String(line['time']))?.[1] ?? '';
      const text = TEXTS[String(line['msg'])]?.(line) ?? plainText(line, (key) => styled('dim', key));
      write(`${styled('dim', time)} ${styled(style, word.padEnd(5))} ${text}${stackOf(line)}\n`);
    },
  };
}

/** Lines that come often, or that people wait for. */
const TEXTS: Readonly<Record<string, (line: Line) => string>> = {
  request: (line) => {
    const { status, model, upstream, ms, session, tokens, end } = line;
    const upstreamName = upstream === null ? '' : ` -> ${shown(upstream)}`;
    const counted = tokens === null ? '' : `  ${shown(tokens)} tokens`;
    const ending = end === 'complete' ? '' : `  ${shown(end)}`;
    return `${shown(status ?? '-')}  ${shown(model)}${upstreamName}  ${shown(ms)} ms${counted}  session ${shown(session)}${ending}${reasonOf(line)}`;
  },
  rejected: (line) => {
    const { status, method, path } = line;
    const request = path === undefined ? '' : `  ${shown(method)} ${shown(path)}`;
    return `${shown(status ?? '-')}${request}  rejected${reasonOf(line)}`;
  },
  stopping: ({ in_flight: count }) =>
    count === undefined
      ? 'stopping'
      : `stopping: ${shown(count)} ${count === 1 ? 'request' : 'requests'} in flight`,
};

/** Who is at fault, the reason and its sentence. */
function reasonOf({ fault, error, why }: Line): string {
  if (typeof error !== 'string') return '';
  const side = typeof fault === 'string' ? `${fault}: ` : '';
  const sentence = typeof why === 'string' ? `: ${shown(why)}` : '';
  return `  ${side}${shown(error)}${sentence}`;
}

function plainText(line: Line, styledKey: (key: string) => string): string {
  const pairs = Object.entries(line).filter(([key]) => !FRAME.has(key));
  return [shown(line['msg']), ...pairs.map(([key, value]) => `${styledKey(`${key}=`)}${shown(value)}`)].join(
    '  ',
  );
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return text.replace(CONTROL, '\ufffd');
}

/** Indented lines of an error, a bug's stack among them. */
function stackOf({ err }: Line): string {
  if (typeof err !== 'object' || err === null) return '';
  const { stack, message } = err as { readonly stack?: unknown; readonly message?: unknown };
  const text = typeof stack === 'string' ? stack : shown(message ?? '');
  return `\n${text
    .split('\n')
    .map((one) => `    ${shown(one)}`)
    .join('\n')}`;
}
