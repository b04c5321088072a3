// Why a runtime refused a request, as one line that may be shown: its own words without any value that was sent.
import { isTree, own, secretTexts } from '../settings/secrets.ts';

const MAX_CHARS = 500;
/** What is looked at of a longer text. */
const READ_CHARS = 20_000;
/** Shorter ones are words of the text by chance. */
const MIN_SECRET_CHARS = 4;
/** pydantic repeats the input in its texts, and cuts it, so that a secret may stand there in part. */
const REPEATED_INPUT = /,? ?input_value=.*?(?=, input_type=|\]|$)/gs;

/** `: reason`, or '' when there is none. @param hidden values that must not be shown. @param sent what was sent */
export function reasonOf(text: string, hidden: readonly string[], sent: unknown): string {
  const secrets = [...hidden, ...secretTexts(sent), ...inUrls(sent)]
    .filter((secret) => secret.length >= MIN_SECRET_CHARS)
    .toSorted((a, b) => b.length - a.length);
  let line = wordsOf(text).slice(0, READ_CHARS).replaceAll(REPEATED_INPUT, '');
  for (const secret of secrets) line = line.replaceAll(secret, '[secret]');
  line = line.replaceAll(/\p{Cc}+|\s+/gu, ' ').trim();
  if (line === '') return '';
  return `: ${line.length > MAX_CHARS ? `${line.slice(0, MAX_CHARS)}...` : line}`;
}

/** FastAPI says `{"detail": text}` or `{"detail": [{"loc": [...], "msg": text}]}`. */
function wordsOf(text: string): string {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return text;
  }
  // The agent server says in `exception` what its `detail` keeps back: "Internal Server Error".
  const exception = isTree(body) ? own(body, 'exception') : undefined;
  if (typeof exception === 'string' && exception !== '') return exception;
  const detail = isTree(body) ? (own(body, 'detail') ?? own(body, 'message') ?? own(body, 'error')) : body;
  if (typeof detail === 'string') return detail;
  if (Array.isArray(detail))
    return detail
      .filter(isTree)
      .map((issue) => {
        const loc = own(issue, 'loc');
        const steps: unknown[] = Array.isArray(loc) ? loc : [];
        const place = steps.slice(steps[0] === 'body' ? 1 : 0).join('.');
        const said = own(issue, 'msg');
        return [place, said].filter((part) => typeof part === 'string' && part !== '').join(': ');
      })
      .join('; ');
  return detail === undefined ? '' : JSON.stringify(detail);
}

/** Values in the query of URLs: some MCP servers take their key there. */
function inUrls(value: unknown): string[] {
  if (typeof value === 'string')
    return /^https?:/i.test(value) && URL.canParse(value) ? [...new URL(value).searchParams.values()] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(inUrls);
}
