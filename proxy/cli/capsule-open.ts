// `throughline capsule open`: what was said in a recorded call, with the operator's private key.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { errorCode } from '../../config/error-code.ts';
import { openCapsule, type CapsuleContent } from '../capsule/format.ts';
import { CannotStart } from '../errors/cannot-start.ts';
import { ADMIN_FLAGS, type AdminFlags } from './admin-call.ts';
import { capsuleAt, orCannotOpen, privateKeyIn } from './capsule-file.ts';
import type { Define, Terminal } from './terminal.ts';

interface Flags extends AdminFlags {
  readonly privateKey: string;
  readonly out?: string | undefined;
}

/** All but line breaks and tabs would move the cursor of whoever reads. */
const CONTROL = /[^\P{Cc}\n\t]|\p{Cf}/gu;

export const capsuleOpen: Define = (command, terminal) => {
  command
    .summary('read what was said, with the private key')
    .description('Opens a capsule and prints its parts, or writes each into a file.')
    .argument('<capsule>', 'a file, or the id of a capsule of the running proxy')
    .requiredOption('--private-key <file>', 'the private key of general_settings.capsules.public_key')
    .option('--out <dir>', 'write the parts as they are into files of this folder')
    .option(...ADMIN_FLAGS.url)
    .option(...ADMIN_FLAGS.keyFile)
    .addHelpText(
      'after',
      '\nExit code 0, 2 when the command line is wrong, 3 when the capsule does not open.',
    )
    .action(async (name, flags) => terminal.exitWith(await open(name, flags, terminal)));
};

async function open(name: string, flags: Flags, terminal: Terminal): Promise<number> {
  return orCannotOpen(terminal, async () => {
    const key = privateKeyIn(flags.privateKey, terminal);
    const { capsule } = await capsuleAt(name, flags, terminal);
    const parts = partsOf(openCapsule(capsule, key));
    if (flags.out === undefined) for (const [part, bytes] of parts) terminal.out(partText(part, bytes));
    else writeParts(flags.out, parts, terminal);
    return 0;
  });
}

type Part = readonly [name: string, bytes: Buffer];

const partsOf = ({ request, attempts, response }: CapsuleContent): readonly Part[] => [
  ['request', request],
  ...attempts.flatMap((one, i): readonly Part[] => [
    [`attempt-${i + 1}-request`, one.request],
    [`attempt-${i + 1}-response`, one.response],
  ]),
  ['response', response],
];

const partText = (name: string, bytes: Buffer): string =>
  `--- ${name}, ${bytes.length} bytes\n${bytes.toString('utf8').replaceAll(CONTROL, '\ufffd')}\n`;

/** @throws CannotStart */
function writeParts(folder: string, parts: readonly Part[], { cwd, err }: Terminal): void {
  const path = resolve(cwd, folder);
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    for (const [name, bytes] of parts) writeFileSync(join(path, name), bytes, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    const code = errorCode(error);
    const why =
      code === 'EEXIST'
        ? 'holds files of another capsule - name another folder'
        : `cannot be written (${code})`;
    throw new CannotStart(`${folder} ${why}`);
  }
  err(`wrote ${parts.map(([name]) => join(folder, name)).join(', ')}\n`);
}
