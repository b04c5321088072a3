// `throughline check`: every issue of a configuration, with its place; nothing is started.
import { resolve } from 'node:path';
import { formatIssue } from '../../config/issue.ts';
import { loadConfig } from '../../config/load.ts';
import { CONFIG_FLAG, configPathOf, type Define, type Terminal } from './terminal.ts';

const DESCRIPTION =
  'Prints every issue as file:line:column. Exit code 0 when the configuration can be served (warnings allowed), 1 when not.';

export const check: Define = (command, terminal) => {
  command
    .description(DESCRIPTION)
    .option(...CONFIG_FLAG)
    .action(({ config }) => terminal.exitWith(printIssues(config, terminal)));
};

function printIssues(config: string | undefined, terminal: Terminal): number {
  const path = resolve(terminal.cwd, configPathOf(config, terminal));
  const loaded = loadConfig(path, terminal.env);
  const issues = loaded.ok ? loaded.snapshot.warnings : loaded.issues;
  for (const issue of issues) terminal.out(`${issue.severity}: ${formatIssue(issue)}\n`);
  const errors = issues.filter((issue) => issue.severity === 'error').length;
  if (!loaded.ok) {
    terminal.err(`${errors} ${errors === 1 ? 'issue' : 'issues'}; this configuration cannot be served\n`);
    return 1;
  }
  const { deployments, version } = loaded.snapshot;
  terminal.out(`ok: ${deployments.length} model entries, version ${version}, ${issues.length} warnings\n`);
  return 0;
}
