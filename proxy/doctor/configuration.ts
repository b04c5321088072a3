// The configuration: what `check` finds, keys that stand in it as text, and whether requests under way are given the time
// that the process has to end.
import { ENV_MARKER } from '../../config/dialect.ts';
import type { Issue } from '../../config/issue.ts';
import { memberOf, nodeAt, pathText, type Path, type Tree } from '../../config/tree.ts';
import type { Code } from './codes.ts';
import { entriesOf, placeAt, placeOfIssue, type Entry, type Inspected } from './entries.ts';
import type { Reporter } from './finding.ts';

/** For rows and the store, after the last request has ended. */
const RECORDS_S = 10;
/** Placeholders of gateways without keys: `none`, `dummy`, `EMPTY`. */
const SHORTEST_KEY = 8;

export function checkConfiguration(
  inspected: Inspected,
  graceSeconds: number | null,
  report: Reporter,
): void {
  const { issues, snapshot, source, isServed } = inspected;
  for (const issue of issues) {
    const code = codeOf(issue);
    report.found('check', code, {
      place: placeOfIssue(issue),
      seen: `${issue.path === '' ? '' : `${issue.path}: `}${issue.message}`,
      ...(issue.fix === '' ? {} : { fix: issue.fix }),
      level: issue.severity,
    });
  }
  if (isServed) report.passed('check', `${snapshot?.deployments.length ?? 0} entries can be served`);
  if (source !== null) checkPasted(source.tree, issues, report);
  if (snapshot === null) return;
  noteNames(entriesOf(snapshot, source), report);
  const drainS = Math.ceil(snapshot.drainMs / 1000);
  if (graceSeconds === null)
    report.skipped('drain', 'the time that the process has to end is not known: see --grace');
  else if (drainS + RECORDS_S > graceSeconds)
    report.found('drain', 'TL-1107', {
      seen: `general_settings.drain_seconds is ${drainS}, the process is given ${graceSeconds} s, of which rows need ${RECORDS_S}`,
      fix: `set terminationGracePeriodSeconds to ${drainS + RECORDS_S} or more, or drain_seconds to ${Math.max(0, graceSeconds - RECORDS_S)}`,
    });
  else report.passed('drain', `requests may run on for ${drainS} s of ${graceSeconds} s`);
}

/** Claude Code goes by the model that an answer states. What a wildcard takes is not known here. */
function noteNames(entries: readonly Entry[], report: Reporter): void {
  for (const { deployment, modelPlace } of entries) {
    const { kind, group, upstreamModel, statesAskedModel, mock } = deployment;
    if (kind !== 'anthropic' || statesAskedModel || mock !== null) continue;
    if (group === upstreamModel || group.includes('*')) continue;
    report.found('names', 'TL-1108', {
      place: modelPlace,
      seen: `clients ask for ${group}, the answer states ${upstreamModel} or what the gateway calls it`,
    });
  }
}

function codeOf({ severity, message, path }: Issue): Code {
  if (severity === 'warning') return 'TL-1102';
  if (/is not set$|is set but empty$/.test(message)) return 'TL-1104';
  if (path.endsWith('.api_base')) return 'TL-1105';
  if (/ends in a space or a line break$|contains a space, a line break/.test(message)) return 'TL-1106';
  return 'TL-1101';
}

/** Keys that are text of the file: they end in backups, in `kubectl describe` and in version control. */
function checkPasted(tree: Tree, issues: readonly Issue[], report: Reporter): void {
  const spots: Path[] = [['general_settings', 'master_key']];
  const add = (list: string, ...below: readonly string[]): void => {
    const node = memberOf(tree, list);
    if (node?.kind === 'list') node.items.forEach((_, index) => spots.push([list, index, ...below]));
  };
  add('model_list', 'litellm_params', 'api_key');
  add('model_list', 'litellm_params', 'azure_ad_token');
  add('credential_list', 'credential_values', 'api_key');
  const named = new Set(issues.map(placeOfIssue));
  let count = 0;
  for (const path of spots) {
    const place = placeAt(tree, path);
    if (place === null || named.has(place) || !isPasted(tree, path)) continue;
    count += 1;
    const name = path.at(-1) === 'master_key' ? 'MASTER_KEY' : 'GATEWAY_KEY';
    report.found('keys', 'TL-1103', {
      place,
      seen: `${pathText(path)} is text, not a reference`,
      fix: `write os.environ/${name} there, set the variable, then exchange the key: it has been in a file`,
    });
  }
  if (count === 0) report.passed('keys', 'no key stands in the file as text');
}

function isPasted(tree: Tree, path: Path): boolean {
  const node = nodeAt(tree, path);
  if (node?.kind !== 'scalar' || typeof node.value !== 'string') return false;
  return node.value.length >= SHORTEST_KEY && !node.value.startsWith(ENV_MARKER);
}
