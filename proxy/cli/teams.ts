// `throughline teams`: teams of a running proxy. Each of its subcommands has a file of its own.
import { teamsCreate } from './teams-create.ts';
import { teamsDelete } from './teams-delete.ts';
import { teamsList } from './teams-list.ts';
import type { Define } from './terminal.ts';

export const teams: Define = (command, terminal) => {
  command.helpCommand(false).description('Teams of a running proxy, through its admin API.');
  teamsCreate(command.command('create'), terminal);
  teamsList(command.command('list'), terminal);
  teamsDelete(command.command('delete'), terminal);
};
