// `POST /config/reload`: the running proxy reads its files again, or says what that would change.
import { basename } from 'node:path';
import { formatIssue, type Issue } from '../../config/issue.ts';
import type { ConfigReloader } from '../active-config/config-reloader.ts';
import { sendJson } from '../pipeline/respond.ts';
import type { Exchange } from '../pipeline/exchange.ts';
import type { AdminAttempt } from './audit.ts';
import { readObject } from './json-body.ts';

/** Without a body, or with `{dry_run: true}`. A refused configuration answers 200 with `result: "refused"`, for nothing failed. */
export async function reloadConfig(
  x: Exchange,
  reloader: ConfigReloader,
  attempt: AdminAttempt,
): Promise<void> {
  const { dry_run: dryRun } = (await readObject(x)) as { readonly dry_run?: unknown };
  if (dryRun === true) {
    const { result, issues, changes } = reloader.dryRun();
    attempt.details({ dry_run: true, result, changes: changes.length });
    attempt.applied(false);
    sendJson(x, { result, dry_run: true, issues: issues.map(shown), changes });
    return;
  }
  const { changes } = reloader.dryRun();
  const { result, issues } = await reloader.reload();
  const applied = result === 'applied' ? changes : [];
  attempt.details({ result, changes: applied.length, version: reloader.active.snapshot.version });
  attempt.applied(result === 'applied');
  sendJson(x, { result, dry_run: false, issues: issues.map(shown), changes: applied });
}

/** As `throughline check` prints it, without the folders of the server. */
function shown(issue: Issue): string {
  return `${issue.severity}: ${formatIssue({ ...issue, file: basename(issue.file) })}`;
}
