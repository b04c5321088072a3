// A configuration of LiteLLM, or the values of its chart, -> a configuration of this proxy, with a finding for each field.
// Works on the YAML document, so that comments and the order of keys stay. Pure: files that are included come from outside.
import { isMap, isScalar, isSeq, parseDocument, type Document, type Node } from 'yaml';
import { ENV_MARKER } from '../dialect.ts';
import type { Issue } from '../issue.ts';
import { looksPasted } from '../hints.ts';
import { parse } from '../parse.ts';
import { isSecretAt } from '../schema.ts';
import type { Path } from '../tree.ts';
import { checkLoads } from './check-loads.ts';
import { convertEntries, dropEntries } from './entries.ts';
import { importFields } from './fields.ts';
import type { Finding, LostComment } from './finding.ts';
import { Findings } from './findings.ts';
import { joinIncludes, type ReadInclude } from './includes.ts';
import { askForKey, OF_CHART, statesMasterKey } from './master-key.ts';
import { nameOf, Origins } from './origins.ts';
import { whyNoConfig } from './recognised.ts';
import { takeProxyConfig } from './values.ts';

export type { ReadInclude };

/** What became of a file. */
export interface Imported {
  /** The configuration; ends in a line break. */
  readonly text: string;
  /** What was read. */
  readonly source: 'litellm' | 'helm-values';
  /** In the order of the file. */
  readonly findings: readonly Finding[];
  /** The reference that was written as `master_key`, since what authenticated callers is not there; null = none was needed. */
  readonly addedKey: string | null;
  /** It names no master key: everybody is served where no variable has one. */
  readonly isOpen: boolean;
  readonly lostComments: readonly LostComment[];
  /** Environment variables that the result refers to. */
  readonly variables: readonly string[];
  /** Why the result does not load yet, beyond variables that are not set here; empty = it loads. */
  readonly unresolved: readonly Issue[];
}

/** Comments move at most once or twice until they stay. */
const SETTLING_ROUNDS = 5;

type Result =
  | { readonly ok: true; readonly imported: Imported }
  | { readonly ok: false; readonly issues: readonly Issue[] };

/** @param file as messages name it */
export function importLitellm(file: string, text: string, read: ReadInclude): Result {
  const parsed = parse(file, text);
  if (!parsed.ok) return { ok: false, issues: parsed.issues };
  try {
    return converted(file, text, read);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    return {
      ok: false,
      issues: [issueOf(file, 'it is nested too deeply, or its aliases expand to too much')],
    };
  }
}

function converted(file: string, text: string, read: ReadInclude): Result {
  const origins = new Origins();
  const findings = new Findings(origins);
  const document = origins.document(file, text);
  const source = takeProxyConfig(document, origins, findings);
  if (!isMap(document.contents))
    return {
      ok: false,
      issues: [issueOf(file, 'there is no configuration in it: proxy_config is no mapping')],
    };
  const issues = joinIncludes(document, file, read, origins, findings);
  if (issues.length > 0) return { ok: false, issues };
  const none = source.kind === 'litellm' ? whyNoConfig(document.contents) : null;
  if (none !== null) return { ok: false, issues: [issueOf(file, none.message, none.fix)] };
  findings.startAt(source.prefix);
  const leftOut = convertEntries(document, origins, findings);
  const lostAuthentication = importFields(document, leftOut, origins, findings);
  dropEntries(document, leftOut);
  const isChart = source.kind === 'helm-values';
  const variable = isChart ? 'PROXY_MASTER_KEY' : 'LITELLM_MASTER_KEY';
  const addedKey =
    lostAuthentication || isChart ? askForKey(document, variable, isChart ? OF_CHART : null, findings) : null;
  passOverUnknown(document);
  const unresolved = checkLoads(document, file, origins, findings);
  flagPasted(document.contents, [], findings);
  const result = textOf(document, text);
  return {
    ok: true,
    imported: {
      text: result,
      source: source.kind,
      findings: findings.inOrder(),
      addedKey,
      isOpen: !statesMasterKey(document),
      lostComments: origins.lost,
      variables: variablesIn(document.contents),
      unresolved,
    },
  };
}

/** What is copied out of LiteLLM's documentation later shall not end a start. */
function passOverUnknown(document: Document): void {
  const path = ['general_settings', 'unknown_keys'];
  if (document.hasIn(path)) return;
  if (isMap(document.get('general_settings', true))) document.setIn(path, 'warn');
  else document.set('general_settings', document.createNode({ unknown_keys: 'warn' }));
}

/** Written with its own comments and quotes; long lines stay whole. Reading the result again gives the same text. */
function textOf(document: Document, original: string): string {
  const style = { lineWidth: 0, flowCollectionPadding: /[{[] \S/.test(original) };
  let text = document.toString(style);
  // The parser gives a comment to the node before or after it; where it stands in the text settles that.
  for (let round = 0; round < SETTLING_ROUNDS; round += 1) {
    const again = parseDocument(text, { prettyErrors: false }).toString(style);
    if (again === text) break;
    text = again;
  }
  return text;
}

function issueOf(file: string, message: string, fix = 'name the file with model_list'): Issue {
  return {
    severity: 'error',
    file,
    line: 0,
    column: 0,
    path: '',
    message,
    fix,
  };
}

function variablesIn(node: Node | null): string[] {
  const names = new Set<string>();
  const visit = (one: unknown): void => {
    if (isScalar(one)) {
      if (typeof one.value === 'string' && one.value.startsWith(ENV_MARKER))
        names.add(one.value.slice(ENV_MARKER.length));
    } else if (isSeq(one)) one.items.forEach(visit);
    else if (isMap(one)) for (const pair of one.items) visit(pair.value);
  };
  visit(node);
  return [...names].toSorted();
}

/** Header names that carry credentials. */
const CREDENTIAL_HEADER = /(?:key|token|secret|auth|credential|cookie)/i;
/** Where a gateway wants no key, but clients insist on one. */
const NO_KEY =
  /^(?:none|null|empty|dummy|anything|no[-_]?key|not[-_]needed|(?:sk-)?(?:fake|dummy)[\w-]*|my-fake-key)$/i;
const FLAG = `a key stands in the file: write ${ENV_MARKER}NAME or api_key_file instead, and make another key`;

function flagPasted(node: unknown, path: Path, findings: Findings): void {
  if (isSeq(node))
    node.items.forEach((item, index) =>
      flagPasted(item, [...path, findings.positionOf(item, index)], findings),
    );
  else if (isMap(node))
    for (const pair of node.items) flagPasted(pair.value, [...path, nameOf(pair)], findings);
  else if (isScalar(node) && typeof node.value === 'string') {
    if (isCredential(node.value, path)) findings.replace(node, path, 'manual', FLAG);
  }
}

function isCredential(text: string, path: Path): boolean {
  if (text === '' || text.startsWith(ENV_MARKER) || NO_KEY.test(text)) return false;
  const isSecret = isSecretAt(path);
  if (looksPasted(text, isSecret)) return true;
  const isHeader = ['extra_headers', 'headers'].includes(String(path.at(-2)));
  if (isHeader) return CREDENTIAL_HEADER.test(String(path.at(-1)));
  return isSecret && path[0] !== 'environment_variables';
}
