// `throughline diff A B`: what changes for callers between two configurations; nothing is started.
import { resolve } from 'node:path';
import { changesBetween } from '../../config/diff.ts';
import { formatIssue } from '../../config/issue.ts';
import { loadConfig } from '../../config/load.ts';
import type { Snapshot } from '../../config/snapshot.ts';
import { changesText } from './changes-text.ts';
import { jsonText } from './print.ts';
import type { Define, Terminal } from './terminal.ts';

const DESCRIPTION = `Prints what changes for callers from configuration A to configuration B: models, where they are served, headers, prices,
limits, keys. Values that differ and are secret are said to differ, and are not shown.
Exit code 0 when nothing changes, 1 when something does, 2 when one of the two cannot be loaded.`;

/** Of the JSON: raised when a member changes its meaning. */
const JSON_VERSION = 1;
const TROUBLE = 2;

export const diff: Define = (command, terminal) => {
  command
    .description(DESCRIPTION)
    .argument('<a>', 'the configuration before')
    .argument('<b>', 'the configuration after')
    .option('--json', 'print one JSON object instead')
    .action((a, b, { json }) => terminal.exitWith(printDiff(a, b, json === true, terminal)));
};

function printDiff(a: string, b: string, json: boolean, terminal: Terminal): number {
  const [before, after] = [loaded(a, terminal), loaded(b, terminal)];
  if (before === null || after === null) return TROUBLE;
  const changes = changesBetween(before, after);
  if (json) terminal.out(jsonText({ version: JSON_VERSION, same: changes.length === 0, changes }));
  else if (changes.length === 0) terminal.out('nothing changes for callers\n');
  else terminal.out(changesText(changes));
  return changes.length === 0 ? 0 : 1;
}

/** null when it cannot be loaded; the reasons are on stderr. */
function loaded(file: string, terminal: Terminal): Snapshot | null {
  const found = loadConfig(resolve(terminal.cwd, file), terminal.env);
  if (found.ok) return found.snapshot;
  const errors = found.issues.filter(({ severity }) => severity === 'error');
  for (const issue of errors) terminal.err(`error: ${formatIssue(issue)}\n`);
  terminal.err(`throughline: ${file} cannot be loaded, so nothing was compared\n`);
  return null;
}
