// Names of models by pattern, as lists of models and caps state them.

/** Whether a name fits a pattern in which each `*` stands for any text. In the time of both lengths, whatever they hold. */
export const fitsPattern = (pattern: string, name: string): boolean => patternTest(pattern)(name);

/** The same for a pattern that many names are held against: it is taken apart once. */
export function patternTest(pattern: string): (name: string) => boolean {
  if (!pattern.includes('*')) return (name) => name === pattern;
  const [first = '', ...others] = pattern.split('*');
  const last = others.pop() ?? '';
  return (name) => {
    if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length)
      return false;
    let at = first.length;
    for (const part of others) {
      const found = name.indexOf(part, at);
      if (found < 0) return false;
      at = found + part.length;
    }
    return at <= name.length - last.length;
  };
}
