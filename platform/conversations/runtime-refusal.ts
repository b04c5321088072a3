// What a runtime says of a request that it refuses, as words for the user. FastAPI repeats the input, which holds keys:
// only places and messages are taken, and keys in them are left out. Pure.
import type { Secret } from '../../config/secret.ts';
import type { RuntimeResponse } from '../sandboxes/http-request.ts';
import { isTree, own } from '../settings/secrets.ts';

const MAX_REASON = 500;
const MAX_ISSUES = 5;

/** @param secrets what was sent along. @returns e.g. `422 (llm.temperature: Input should be a valid number)` */
export function runtimeReason({ status, text }: RuntimeResponse, secrets: readonly Secret[]): string {
  const told = secrets
    .reduce((words, secret) => words.replaceAll(secret.reveal(), '[key]'), wordsOf(text))
    .replaceAll(/\p{Cc}+/gu, ' ')
    .trim();
  if (told === '') return String(status);
  return `${status} (${told.length > MAX_REASON ? `${told.slice(0, MAX_REASON)}...` : told})`;
}

function wordsOf(text: string): string {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return '';
  }
  const detail = isTree(body) ? own(body, 'detail') : undefined;
  // The agent server says in `exception` what `detail` keeps back: "Internal Server Error".
  const exception = isTree(body) ? own(body, 'exception') : undefined;
  if (typeof exception === 'string' && exception !== '') return exception;
  if (typeof detail === 'string') return detail;
  if (!Array.isArray(detail)) return '';
  const issues = detail.filter(isTree).slice(0, MAX_ISSUES);
  return issues.map((issue) => `${placeOf(own(issue, 'loc'))}${textOf(own(issue, 'msg'))}`).join('; ');
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

function placeOf(loc: unknown): string {
  if (!Array.isArray(loc)) return '';
  const steps = loc.filter((step) => typeof step === 'string' || typeof step === 'number');
  const place = (steps[0] === 'body' ? steps.slice(1) : steps).join('.');
  return place === '' ? '' : `${place}: `;
}
