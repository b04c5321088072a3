// Errors of a start or a stop: shown to the operator as one clear sentence, never as a stack.
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

/** The process has ended its work, and a part of it could not be closed: whoever waits for a clean end must know. */
export class UncleanStop extends Error {
  override readonly name = 'UncleanStop';

  /** @param parts that could not be closed */
  constructor(parts: readonly string[]) {
    super(`stopped, but could not close: ${parts.join(', ')} - the log says why`);
  }
}
