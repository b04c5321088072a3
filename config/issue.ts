// One error or warning about a configuration, with its place and how to fix it.
import { printable } from './printable.ts';

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
}

/** `gateway.yaml:14:7 model_list[0].x: what is wrong - how to fix it` */
export function formatIssue(issue: Issue): string {
  const place = issue.line > 0 ? `${issue.file}:${issue.line}:${issue.column}` : issue.file;
  const path = issue.path === '' ? '' : `${issue.path}: `;
  const fix = issue.fix === '' ? '' : ` - ${issue.fix}`;
  return printable(`${place} ${path}${issue.message}${fix}`);
}
