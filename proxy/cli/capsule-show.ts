// `throughline capsule show`: what is known of a recorded call without its content.
import { printable } from '../../config/printable.ts';
import type {
  Capsule,
  CapsuleMetadata,
  KeptHeader,
  RecordedAttempt,
  RecordedBytes,
} from '../capsule/format.ts';
import { timesOf } from '../capsule/replay/compare.ts';
import { grouped } from '../spend/report/text-table.ts';
import { ADMIN_FLAGS, type PrintFlags } from './admin-call.ts';
import { capsuleAt } from './capsule-file.ts';
import { jsonText } from './print.ts';
import type { Define, Terminal } from './terminal.ts';
import { writeNew } from './write-file.ts';

interface Flags extends PrintFlags {
  readonly out?: string | undefined;
}

export const capsuleShow: Define = (command, terminal) => {
  command
    .summary('show a recorded call: headers, times, how it ended')
    .description('Prints what a capsule says without being opened. --out keeps the file itself.')
    .argument('<capsule>', 'a file, or the id of a capsule of the running proxy')
    .option('--out <file>', 'also write the capsule to a file')
    .option(...ADMIN_FLAGS.url)
    .option(...ADMIN_FLAGS.keyFile)
    .option(...ADMIN_FLAGS.json)
    .action((name, flags) => show(name, flags, terminal));
};

async function show(name: string, flags: Flags, terminal: Terminal): Promise<void> {
  const { capsule, file } = await capsuleAt(name, flags, terminal);
  if (flags.out !== undefined) {
    writeNew(flags.out, file.toString('utf8'), null, terminal);
    terminal.err(`wrote ${flags.out}\n`);
  }
  terminal.out(flags.json === true ? jsonText(capsule.metadata) : capsuleText(capsule));
}

function capsuleText({ metadata, isIntact }: Capsule): string {
  const { id, started, proxy, config, call, request, attempts, response, end, sealed } = metadata;
  const facts = Object.entries(call).flatMap(([name, value]) => (value === null ? [] : [line(name, value)]));
  const ends = Object.entries(end).flatMap(([name, value]) =>
    value === null || (Array.isArray(value) && value.length === 0) ? [] : [line(name, value)],
  );
  const lines = [
    isIntact ? '' : 'WARNING: this capsule was changed after it was written, or it is torn\n\n',
    `call ${printable(id)}\n`,
    line('started', started),
    line('proxy', proxy),
    line('configuration', config),
    ...facts,
    `\nrequest of the client, ${sizeOf(request.body)}\n`,
    ...headerLines(request.headers),
    ...attempts.flatMap(attemptLines),
    `\nwhat the client got: ${response.end}\n`,
    ...headLines(response.head),
    ...bodyLines(response.body, response.head?.at_ms ?? null),
    '\nend\n',
    ...ends,
    '\n',
    sealed === null
      ? 'It holds sizes, times and digests; no content.\n'
      : `Its content (${grouped(sealed.bytes)} bytes) is sealed for the key ${printable(sealed.for)}: throughline capsule open\n`,
  ];
  return lines.join('');
}

function attemptLines(attempt: RecordedAttempt, i: number): string[] {
  const { model, deployment, api_base, path, started_ms, sent_ms, request, head, response, end, error } =
    attempt;
  return [
    `\nattempt ${i + 1}: ${printable(model)} at ${printable(api_base)}\n`,
    line('deployment', deployment),
    line('path', path),
    line('began', `${started_ms} ms`),
    line('sent', sent_ms === null ? 'never: no connection' : `${sent_ms} ms`),
    line('request', sizeOf(request.body)),
    ...headerLines(request.headers),
    ...headLines(head),
    ...bodyLines(response, head?.at_ms ?? null),
    line('ended', error === null ? end : `${end} (${error})`),
  ];
}

const line = (name: string, value: unknown): string =>
  `  ${name.padEnd(20)}${printable(typeof value === 'string' ? value : JSON.stringify(value))}\n`;

const sizeOf = ({ bytes, sha256, kept_bytes: kept }: CapsuleMetadata['request']['body']): string =>
  `${grouped(bytes)} bytes${kept > 0 ? ` (${grouped(kept)} kept)` : ''}, SHA-256 ${printable(sha256).slice(0, 16)}`;

const headerLines = (headers: readonly KeptHeader[]): string[] =>
  headers.map(
    ([name, value]) => `    ${printable(name)}: ${value === null ? '[not kept]' : printable(value)}\n`,
  );

const headLines = (head: RecordedAttempt['head']): string[] =>
  head === null
    ? [line('head', 'none')]
    : [line('head', `${head.status} after ${head.at_ms} ms`), ...headerLines(head.headers)];

function bodyLines(body: RecordedBytes, headMs: number | null): string[] {
  const { first_byte_ms, last_byte_ms, longest_gap_ms, pieces } = timesOf({ pieces: body.pieces, headMs });
  if (pieces === 0) return [line('body', 'none')];
  const more = body.pieces_left_out === 0 ? '' : `, and ${grouped(body.pieces_left_out)} later ones`;
  return [
    line('body', sizeOf(body)),
    line('pieces', `${grouped(pieces)}${more}`),
    line('first, last byte', `${first_byte_ms} ms, ${last_byte_ms} ms`),
    ...(longest_gap_ms === null ? [] : [line('longest silence', `${longest_gap_ms} ms`)]),
  ];
}
