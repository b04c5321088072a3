// Which tools may be called again and again with the same result: names, with `*` at the end for any text. Pure.

export function namesTool(patterns: readonly string[]): (tool: string) => boolean {
  if (patterns.length === 0) return () => false;
  const names = new Set(patterns.filter((one) => !one.endsWith('*')));
  const beginnings = patterns.filter((one) => one.endsWith('*')).map((one) => one.slice(0, -1));
  return (tool) => names.has(tool) || beginnings.some((beginning) => tool.startsWith(beginning));
}
