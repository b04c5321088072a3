// `POST /config/reload`: the running proxy reads its files again, or says what that would change.
import type { ConfigReloader } from '../active-config/config-reloader.ts';
import { Fault } from '../errors/fault.ts';
import { sendJson } from '../pipeline/respond.ts';
import type { Exchange } from '../pipeline/exchange.ts';
import type { AdminAttempt } from './audit.ts';
import { shownIssue } from './health.ts';
import { readChange } from './json-body.ts';

/** With `{}`, or with `{dry_run: true}`. A refused configuration answers 200 with `result: "refused"`, for nothing failed. */
export async function reloadConfig(
  x: Exchange,
  reloader: ConfigReloader,
  attempt: AdminAttempt,
): Promise<void> {
  if (isDryRun(await readChange(x))) {
    const { result, issues, changes } = reloader.dryRun();
    attempt.details({ dry_run: true, result, changes: changes.length });
    attempt.changedNothing('dry_run');
    sendJson(x, { result, dry_run: true, issues: issues.map(shownIssue), changes });
    return;
  }
  const { state, changes, version } = await reloader.reload();
  const { result, issues } = state;
  attempt.details({ result, changes: changes.length, version });
  if (result === 'applied') attempt.applied(true);
  else attempt.changedNothing(result);
  sendJson(x, { result, dry_run: false, issues: issues.map(shownIssue), changes });
}

/** A misspelt `dry_run` must not reload. @throws Fault invalid_member */
function isDryRun(body: Readonly<Record<string, unknown>>): boolean {
  const { dry_run: dryRun = false, ...others } = body;
  const [other] = Object.keys(others);
  if (other !== undefined)
    throw new Fault(
      'invalid_member',
      `There is no member ${other.slice(0, 100)} here; \`dry_run\` is the only one.`,
    );
  if (typeof dryRun !== 'boolean') throw new Fault('invalid_member', '`dry_run` is true or false.');
  return dryRun;
}
