// Headers as a person types them: a JSON object of names and texts. Pure. The proxy checks them again.

type HeadersIssue = 'no_json' | 'no_object' | 'no_text' | 'bad_name';
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** The headers that were typed, or what is wrong with them. */
export function readHeaders(
  text: string,
):
  | { readonly headers: Readonly<Record<string, string>> }
  | { readonly issue: HeadersIssue; readonly detail: string } {
  if (text.trim() === '') return { headers: {} };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { issue: 'no_json', detail: (error as Error).message };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { issue: 'no_object', detail: '' };
  const headers: Record<string, string> = {};
  for (const [name, one] of Object.entries(value)) {
    if (!HEADER_NAME.test(name)) return { issue: 'bad_name', detail: name };
    if (!['string', 'number', 'boolean'].includes(typeof one)) return { issue: 'no_text', detail: name };
    headers[name] = String(one);
  }
  return { headers };
}
