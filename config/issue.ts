// One error or warning about a configuration, with its place and how to fix it.
import { printable } from './printable.ts';

/** Members of `general_settings` with which what LiteLLM takes is passed over here, with a warning. */
export type Waiver = 'unknown_keys' | 'skip_unsupported_models';

/** An issue found in a configuration. Lines and columns count from 1; 0 means "no place" (e.g. an admin call). */
export interface Issue {
  readonly severity: 'error' | 'warning';
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** Dotted path of the value, e.g. `model_list[2].litellm_params.api_base`. */
  readonly path: string;
  /** What is wrong, without the path. */
  readonly message: string;
  /** How to fix it; never contains a secret. */
  readonly fix: string;
  /** Of an error: the setting that would make a warning of it; absent = none does. */
  readonly waiver?: Waiver;
}

const LINES: readonly (readonly [Waiver, string])[] = [
  ['unknown_keys', 'unknown_keys: warn'],
  ['skip_unsupported_models', 'skip_unsupported_models: true'],
];

/** What is said after the issues of a file where lines in it would make warnings of some; '' = of none. Ends in a line break. */
export function waiverNote(issues: readonly Issue[]): string {
  const errors = issues.filter(({ severity }) => severity === 'error');
  const waived = errors.filter(({ waiver }) => waiver !== undefined);
  const lines = LINES.filter(([name]) => waived.some(({ waiver }) => waiver === name)).map(
    ([, line]) => `  ${line}\n`,
  );
  if (lines.length === 0) return '';
  const all = errors.length === 1 ? 'this error' : 'these errors';
  const which = waived.length === errors.length ? all : `${waived.length} of ${all}`;
  return `note: where this is a file of LiteLLM, these lines in it make warnings of ${which}:\ngeneral_settings:\n${lines.join('')}`;
}

/** `gateway.yaml:14:7 model_list[0].x: what is wrong - how to fix it` */
export function formatIssue(issue: Issue): string {
  const place = issue.line > 0 ? `${issue.file}:${issue.line}:${issue.column}` : issue.file;
  const path = issue.path === '' ? '' : `${issue.path}: `;
  const fix = issue.fix === '' ? '' : ` - ${issue.fix}`;
  return printable(`${place} ${path}${issue.message}${fix}`);
}
