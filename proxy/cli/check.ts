// `throughline check`: every issue of a configuration, with its place; nothing is started.
import { resolve } from 'node:path';
import { formatIssue, waiverNote } from '../../config/issue.ts';
import { loadConfig } from '../../config/load.ts';
import { unauthenticated } from '../../config/unauthenticated.ts';
import { jsonText } from './print.ts';
import { CONFIG_FLAG, configPathOf, UsageError, type Define, type Terminal } from './terminal.ts';

const DESCRIPTION = `Prints every issue as file:line:column. Exit code 0 when the configuration can be served (warnings allowed, unless
--strict is given), 1 when not. What belongs to a machine shows at its start: ports, the data directory, packages for
tracing, and proxies of the environment (HTTPS_PROXY).`;

/** Of the JSON: raised when a member changes its meaning. */
const JSON_VERSION = 1;

interface Flags {
  readonly config?: string | undefined;
  readonly json?: boolean | undefined;
  readonly strict?: boolean | undefined;
}

export const check: Define = (command, terminal) => {
  command
    .description(DESCRIPTION)
    .argument('[file]', 'the configuration, as --config names it')
    .option(...CONFIG_FLAG)
    .option('--json', 'print one JSON object instead')
    .option('--strict', 'exit with 1 for warnings as well')
    .action((file, flags) => {
      if (file !== undefined && flags.config !== undefined && file !== flags.config)
        throw new UsageError('two files are named - check one after the other');
      terminal.exitWith(printIssues({ ...flags, config: file ?? flags.config }, terminal));
    });
};

function printIssues({ config, json, strict }: Flags, terminal: Terminal): number {
  const path = resolve(terminal.cwd, configPathOf(config, terminal));
  const loaded = loadConfig(path, terminal.env);
  const issues = loaded.ok ? loaded.snapshot.warnings : loaded.issues;
  const errors = issues.filter((issue) => issue.severity === 'error').length;
  const warnings = issues.length - errors;
  const isStrict = strict === true && warnings > 0;
  const code = loaded.ok && !isStrict ? 0 : 1;
  if (json === true) {
    const served = loaded.ok
      ? {
          config_version: loaded.snapshot.version,
          models: loaded.snapshot.deployments.length,
          authenticated: unauthenticated(loaded.snapshot) === null,
        }
      : { config_version: null, models: null, authenticated: null };
    const object = { version: JSON_VERSION, ok: code === 0, errors, warnings, ...served, issues };
    terminal.out(jsonText(object));
    return code;
  }
  for (const issue of issues) terminal.out(`${issue.severity}: ${formatIssue(issue)}\n`);
  if (!loaded.ok) {
    terminal.err(waiverNote(issues));
    terminal.err(`${errors} ${errors === 1 ? 'issue' : 'issues'}; this configuration cannot be served\n`);
    return code;
  }
  const { deployments, version } = loaded.snapshot;
  const open = unauthenticated(loaded.snapshot);
  terminal.out(`ok: ${deployments.length} model entries, version ${version}, ${issues.length} warnings\n`);
  if (open !== null) terminal.out(`note: ${open}\n`);
  if (isStrict) terminal.err('--strict: a warning counts as an error\n');
  return code;
}
