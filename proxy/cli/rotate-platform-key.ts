// `throughline rotate-platform-key`: seals the platform's secrets under another key.
import { Secret } from '../../config/secret.ts';
import { rotateKey } from '../../platform/rotate.ts';
import { CannotStart } from '../errors/cannot-start.ts';
import { readConfig } from './read-config.ts';
import { DATA_DIR_FLAG, dataDirOf, UsageError, type Define, type Terminal } from './terminal.ts';

const DESCRIPTION = `Seals the platform interface's secrets under another key. Stop all servers on the data first; then set the new key as
the value of platform.secret_key and start it again. All or nothing: a run that is interrupted leaves everything under
the old key.`;
const NEW_KEY = `
The new key is read from the environment variable PLATFORM_SECRET_KEY_NEW; make
one with: openssl rand -base64 32`;

const VARIABLE = 'PLATFORM_SECRET_KEY_NEW';
const KEY_BYTES = 32;

export const rotatePlatformKey: Define = (command, terminal) => {
  command
    .description(DESCRIPTION)
    .option('--config <file>', 'YAML with platform.secret_key, still the old key (or CONFIG_FILE_PATH)')
    .option(...DATA_DIR_FLAG)
    .addHelpText('after', NEW_KEY)
    .action((flags) => rotate(flags, terminal));
};

interface Flags {
  readonly config?: string | undefined;
  readonly dataDir?: string | undefined;
}

async function rotate(values: Flags, terminal: Terminal): Promise<void> {
  const next = terminal.env[VARIABLE] ?? '';
  if (Buffer.from(next, 'base64').length !== KEY_BYTES)
    throw new UsageError(`${VARIABLE} must hold base64 of ${KEY_BYTES} bytes - openssl rand -base64 32`);
  const { platform, database } = readConfig(values.config, terminal).snapshot;
  if (platform === null)
    throw new CannotStart('the configuration has no platform section; nothing is sealed');
  const dataDir = dataDirOf(values.dataDir, terminal);
  const place = { dataDir, database };
  const count = await rotateKey(place, platform.secretKey, new Secret(next)).catch((error: Error) => {
    throw new CannotStart(`${error.message}; nothing was changed`);
  });
  if (count === null) {
    const fix = database === null ? `in ${dataDir} - check --data-dir` : `in ${database.shown}`;
    throw new CannotStart(`there is no platform data ${fix}`);
  }
  terminal.out(`${count} items are sealed under the new key; now set it as platform.secret_key\n`);
}
