// `throughline capsule keygen`: the pair of keys for which capsules are sealed. Run it where the capsules are to be read.
import { newKeyPair } from '../capsule/seal.ts';
import type { Define } from './terminal.ts';
import { writeNew } from './write-file.ts';

export const capsuleKeygen: Define = (command, terminal) => {
  command
    .summary('make the pair of keys that seals and opens capsules')
    .description(
      'Writes an X25519 private key and prints the public one, for general_settings.capsules.public_key. Run it on the machine where you read capsules; the private key never belongs on a server.',
    )
    .requiredOption('--out <file>', 'for the private key')
    .option('--force', 'replace the file')
    .action(({ out, force }) => {
      const { privateKey, publicKey } = newKeyPair();
      writeNew(out, privateKey, force === true, terminal);
      terminal.err(`wrote the private key to ${out}; the public key:\n`);
      terminal.out(`${publicKey}\n`);
    });
};
