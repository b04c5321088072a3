// Writes the generated part of a page (docs/performance.md, docs/reliability.md): one section per scenario between two
// marks that name the command. What stands outside the marks, and the sections of what was not run, stay as they are.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

const beginOf = (command: string): string => `<!-- figures: begin (npm run ${command} -- --write) -->`;
const END = '<!-- figures: end -->';
const NEW_PAGE = `# Performance

What a call, a streamed event and a megabyte of body cost. [bench/README.md](../bench/README.md) says how to read the
tables and how to take them again.

## Figures

${beginOf('bench')}
${END}
`;

/** A scenario's part of the page. */
export interface Section {
  readonly name: string;
  /** Markdown without headings. */
  readonly text: string;
}

/** The page with these sections in place of their older selves. @throws Error when the page lost its marks */
export function withSections(page: string, sections: readonly Section[], command = 'bench'): string {
  const begin = beginOf(command);
  const [from, to] = [page.indexOf(begin), page.indexOf(END)];
  if (from < 0 || to < from) throw new Error(`the page has lost its marks: put ${begin} and ${END} back`);
  const kept = new Map<string, string>();
  for (const part of page
    .slice(from + begin.length, to)
    .split(/^### /m)
    .slice(1)) {
    const [name = '', ...rest] = part.split('\n');
    kept.set(name, rest.join('\n').trim());
  }
  for (const { name, text } of sections) kept.set(name, text);
  const body = [...kept].map(([name, text]) => `### ${name}\n\n${text}\n`).join('\n');
  return `${page.slice(0, from)}${begin}\n\n${body}\n${page.slice(to)}`;
}

/** Writes the sections into the file, which is made when it is not there. */
export function writeSections(path: string, sections: readonly Section[], command = 'bench'): void {
  const page = existsSync(path) ? readFileSync(path, 'utf8') : NEW_PAGE;
  writeFileSync(path, withSections(page, sections, command));
}
