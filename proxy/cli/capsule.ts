// `throughline capsule`: recordings of calls of a running proxy. Each of its subcommands has a file of its own.
import { capsuleKeygen } from './capsule-keygen.ts';
import { capsuleList } from './capsule-list.ts';
import { capsuleOff, capsuleOn } from './capsule-on.ts';
import { capsuleOpen } from './capsule-open.ts';
import { capsuleShow } from './capsule-show.ts';
import type { Define } from './terminal.ts';

export const capsule: Define = (command, terminal) => {
  command
    .helpCommand(false)
    .description(
      'Recordings of single calls (general_settings.capsules). docs/find-a-fault.md explains what they hold.',
    );
  capsuleOn(command.command('on'), terminal);
  capsuleOff(command.command('off'), terminal);
  capsuleList(command.command('list'), terminal);
  capsuleShow(command.command('show'), terminal);
  capsuleOpen(command.command('open'), terminal);
  capsuleKeygen(command.command('keygen'), terminal);
};
