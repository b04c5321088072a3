// Errors that prevent a start: shown to the operator as one clear sentence, never as a stack.
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

/** The start failed for a reason that the operator must fix. */
export class CannotStart extends Error {
  override readonly name = 'CannotStart';
}
