// Reads header values of the form `type; name=value; ...` (RFC 9110 section 5.6.6) strictly: a value that two parsers
// could read differently is rejected. The grammar of multipart.ts; pure.

/** A header value with parameters. */
interface Parameterized {
  /** Lower-case text before the first semicolon. */
  readonly type: string;
  /** Lower-case names. */
  readonly parameters: ReadonlyMap<string, string>;
}

const TOKEN = /[!#$%&'*+\-.^_`|~\w]+/y;

/**
 * null when the value is not strictly formed: a name given twice, a quote that is not closed, text after a value, or
 * a backslash before a quote, which browsers and RFC 9110 read differently.
 */
export function readParameters(value: string): Parameterized | null {
  const semicolon = value.indexOf(';');
  const type = (semicolon === -1 ? value : value.slice(0, semicolon)).trim().toLowerCase();
  const parameters = new Map<string, string>();
  let i = semicolon === -1 ? value.length : semicolon;
  while (i < value.length) {
    if (value[i] !== ';') return null;
    i = skipBlanks(value, i + 1);
    if (i === value.length) break; // a lone semicolon at the end is harmless, and common
    const name = tokenAt(value, i).toLowerCase();
    i += name.length;
    if (name === '' || value[i] !== '=' || parameters.has(name)) return null;
    i++;
    if (value[i] === '"') {
      const end = closingQuote(value, i + 1);
      if (end === -1) return null;
      parameters.set(name, value.slice(i + 1, end));
      i = end + 1;
    } else {
      const token = tokenAt(value, i);
      if (token === '') return null;
      parameters.set(name, token);
      i += token.length;
    }
    i = skipBlanks(value, i);
  }
  return { type, parameters };
}

function tokenAt(value: string, i: number): string {
  const token = new RegExp(TOKEN);
  token.lastIndex = i;
  return token.exec(value)?.[0] ?? '';
}

function skipBlanks(value: string, i: number): number {
  while (value[i] === ' ' || value[i] === '\t') i++;
  return i;
}

function closingQuote(value: string, from: number): number {
  for (let i = from; i < value.length; i++) {
    if (value[i] === '"') return i;
    if (value[i] !== '\\') continue;
    if (value[i + 1] === '"') return -1;
    if (value[i + 1] === '\\') i++;
  }
  return -1;
}
