// `throughline import`: makes a configuration from one of LiteLLM, and says what became of each field.
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { ENV_MARKER } from '../../config/dialect.ts';
import { formatIssue } from '../../config/issue.ts';
import { LEVELS, type Finding, type Level } from '../../config/import/finding.ts';
import { importLitellm, type Imported } from '../../config/import/litellm.ts';
import { printable } from '../../config/printable.ts';
import { readText } from '../../config/read.ts';
import { MASTER_VARIABLES } from '../../config/unauthenticated.ts';
import { CannotStart } from '../errors/cannot-start.ts';
import { jsonText } from './print.ts';
import { schemaComment, writeNew } from './write-file.ts';
import { choice, UsageError, type Define, type Terminal } from './terminal.ts';

const DESCRIPTION = `Makes a configuration from a YAML of LiteLLM (with the files that it includes), or from the values of its chart, and
says for each field whether it means the same here. Comments and the order of keys stay.
The configuration goes to --out, or to standard output; the report goes to standard error, with --out to standard output.
Exit code 0 when the result can be served, 1 when it cannot yet, or with --strict when a field needs a person.`;

const FORMATS = ['text', 'json'] as const;
/** Of the JSON: raised when a member changes its meaning. */
const JSON_VERSION = 1;
const OPEN = `nobody is authenticated by the result: it names no master key, as the file names none, so whoever reaches the port may
do everything unless ${MASTER_VARIABLES.join(' or ')} is set there - write general_settings.master_key: ${ENV_MARKER}LITELLM_MASTER_KEY
`;
const STRICT: readonly Level[] = ['manual', 'unsupported'];

interface Flags {
  readonly out?: string | undefined;
  readonly force?: true | undefined;
  readonly strict?: true | undefined;
  readonly report: (typeof FORMATS)[number];
  readonly all?: true | undefined;
}

export const importFrom: Define = (command, terminal) => {
  command
    .command('litellm')
    .summary('from a YAML or Helm values of LiteLLM')
    .description(DESCRIPTION)
    .argument('<file>', 'config.yaml, or values.yaml of litellm-helm')
    .option('--out <file>', 'write the configuration here')
    .option('--force', 'replace that file if it exists')
    .option('--strict', 'exit with 1 when a field is unsupported or needs a person')
    .option('--all', 'list the fields that mean the same as well')
    .addOption(choice('--report <format>', 'how the report is written', FORMATS).default('text' as const))
    .action((file, flags) => terminal.exitWith(run(file, flags, terminal)));
};

function run(file: string, flags: Flags, terminal: Terminal): number {
  const path = resolve(terminal.cwd, file);
  const main = readText(path);
  if (!main.ok) throw new CannotStart(`${file} ${main.message.replace(/^the file /, '')} - ${main.fix}`);
  const folder = dirname(path);
  const result = importLitellm(file, main.text, (name) => {
    const included = isAbsolute(name) ? name : join(folder, name);
    const found = readText(included);
    if (!found.ok) return { ok: false, message: found.message.replace(/^the file /, '') };
    return { ok: true, name: isAbsolute(name) ? name : join(dirname(file), name), text: found.text };
  });
  if (!result.ok) {
    for (const issue of result.issues) terminal.err(`${issue.severity}: ${formatIssue(issue)}\n`);
    terminal.err(`throughline: ${file} cannot be imported; nothing was written\n`);
    return 1;
  }
  const { imported } = result;
  if (flags.out === undefined) {
    terminal.out(imported.text);
  } else {
    const out = resolve(terminal.cwd, flags.out);
    if (out === path) throw new UsageError('--out names the file that is read - name another one');
    writeNew(flags.out, schemaComment(out, imported.text, terminal), flags.force === true, terminal);
  }
  const say = flags.out === undefined ? terminal.err : terminal.out;
  say(flags.report === 'json' ? jsonOf(imported) : textOf(imported, flags));
  if (imported.unresolved.length > 0) return 1;
  return flags.strict === true && imported.findings.some(({ level }) => STRICT.includes(level)) ? 1 : 0;
}

function countsOf(findings: readonly Finding[]): Record<Level, number> {
  const counts = Object.fromEntries(LEVELS.map((level) => [level, 0])) as Record<Level, number>;
  for (const { level } of findings) counts[level] += 1;
  return counts;
}

function jsonOf(imported: Imported): string {
  const { source, findings, addedKey, isOpen, lostComments, variables, unresolved } = imported;
  const object = {
    version: JSON_VERSION,
    source,
    loads: unresolved.length === 0,
    counts: { fields: findings.length, ...countsOf(findings) },
    findings,
    authenticated: !isOpen,
    master_key_added: addedKey,
    comments_left_out: lostComments,
    variables,
    unresolved,
  };
  return jsonText(object);
}

function textOf(imported: Imported, { out, all }: Flags): string {
  const { findings, addedKey, isOpen, lostComments, variables, unresolved, source } = imported;
  const counts = countsOf(findings);
  let text = isOpen ? OPEN : '';
  if (source === 'helm-values') text += 'values of a chart; the configuration is proxy_config\n';
  for (const level of LEVELS) {
    const some = findings.filter((one) => one.level === level);
    if (some.length === 0 || (level === 'exact' && all !== true)) continue;
    text += `\n${level}\n${some.map(lineOf).join('')}`;
  }
  if (lostComments.length > 0) {
    const lines = lostComments.map(
      ({ file, line, text: comment }) => `  ${file}:${line} # ${printable(comment)}\n`,
    );
    text += `\ncomments of fields that were left out\n${lines.join('')}`;
  }
  if (variables.length > 0) text += `\nenvironment variables to set: ${variables.join(', ')}\n`;
  const parts = LEVELS.map((level) => `${counts[level]} ${level}`).join(', ');
  text += `\n${findings.length} fields: ${parts}\n`;
  const lost = findings.filter((one) => one.protected);
  if (lost.length > 0) {
    text += 'protected something in LiteLLM, and nothing enforces it in the result:\n';
    text += lost.map(({ path }) => `  ${printable(path)}\n`).join('');
  }
  if (addedKey !== null)
    text += `general_settings.master_key: ${addedKey} was added: without it nobody would be authenticated - set the variable, and give callers keys\n`;
  if (unresolved.length > 0) {
    text += 'the result cannot be served yet:\n';
    for (const issue of unresolved)
      text += `  ${printable(`${issue.path}: ${issue.message} - ${issue.fix}`)}\n`;
  } else if (out !== undefined) text += `written: ${out} - next: throughline check --config ${out}\n`;
  return text;
}

function lineOf({ file, line, path, message }: Finding): string {
  return `  ${printable(`${file}:${line} ${path}${message === '' ? '' : `: ${message}`}`)}\n`;
}
