// Header lists are flat (name, value, name, value, ...), as node:http and undici take and give them: no object for each
// header. The names of the lists here are in lower case, save where it says otherwise.

/** Where a name stands for the first time; -1 = nowhere. */
function indexIn(list: readonly string[], name: string): number {
  for (let i = 0; i < list.length; i += 2) if (list[i] === name) return i;
  return -1;
}

export const hasHeader = (list: readonly string[], name: string): boolean => indexIn(list, name) >= 0;

/** The first value of a header; null = it has none. */
export function headerIn(list: readonly string[], name: string): string | null {
  const at = indexIn(list, name);
  return at < 0 ? null : (list[at + 1] ?? null);
}

/** Adds the headers of another list behind its own: `concat` and spreading copy both, and are calls into V8's runtime. */
export function addHeaders(list: string[], more: readonly string[]): void {
  for (let i = 0; i < more.length; i += 1) list.push(more[i] as string);
}

/** Sets a header in place; whatever had that name before is gone. */
export function setHeader(list: string[], name: string, value: string): void {
  for (let i = list.length - 2; i >= 0; i -= 2) if (list[i] === name) list.splice(i, 2);
  list.push(name, value);
}

/** A list without the headers of these names. */
export function withoutHeaders(list: readonly string[], names: ReadonlySet<string>): string[] {
  const kept: string[] = [];
  for (let i = 0; i + 1 < list.length; i += 2) {
    const name = list[i] ?? '';
    if (!names.has(name)) kept.push(name, list[i + 1] ?? '');
  }
  return kept;
}

/** Makes one line of all lines of a list header (RFC 9110, section 5.3): servers often read the first alone. */
export function joinLines(list: string[], name: string): void {
  const first = indexIn(list, name);
  for (let at = list.length - 2; at > first; at -= 2) {
    if (list[at] !== name) continue;
    const [, value = ''] = list.splice(at, 2);
    list.splice(first + 1, 1, `${list[first + 1] ?? ''},${value}`);
  }
}
