// Why a proxy was not started: for the operator, who reads one clear sentence and never a stack.
import type { Issue } from '../../config/issue.ts';

/** The configuration cannot be served; every issue at once. */
export class ConfigRefused extends Error {
  override readonly name = 'ConfigRefused';
  readonly issues: readonly Issue[];

  constructor(issues: readonly Issue[]) {
    super(`the configuration has ${issues.length} ${issues.length === 1 ? 'issue' : 'issues'}`);
    this.issues = issues;
  }
}

/** Something about the start itself that the operator must mend. */
export class CannotStart extends Error {
  override readonly name = 'CannotStart';
}
