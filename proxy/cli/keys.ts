// `throughline keys`: keys of a running proxy. Each of its subcommands has a file of its own.
import { keysCreate } from './keys-create.ts';
import { keysInfo } from './keys-info.ts';
import { keysList } from './keys-list.ts';
import { keysRevoke } from './keys-revoke.ts';
import type { Define } from './terminal.ts';

export const keys: Define = (command, terminal) => {
  command.helpCommand(false).description('Keys of a running proxy, through its admin API.');
  keysCreate(command.command('create'), terminal);
  keysList(command.command('list'), terminal);
  keysInfo(command.command('info'), terminal);
  keysRevoke(command.command('revoke'), terminal);
};
