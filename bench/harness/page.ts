// Writes the generated part of docs/performance.md: one section per scenario between two marks. What stands outside
// the marks, and the sections of scenarios that were not run, stay as they are.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

const BEGIN = '<!-- figures: begin (npm run bench -- --write) -->';
const END = '<!-- figures: end -->';
const NEW_PAGE = `# Performance

What a call, a streamed event and a megabyte of body cost. [bench/README.md](../bench/README.md) says how to read the
tables and how to take them again.

## Figures

${BEGIN}
${END}
`;

/** A scenario's part of the page. */
export interface Section {
  readonly name: string;
  /** Markdown without headings. */
  readonly text: string;
}

/** The page with these sections in place of their older selves. @throws Error when the page lost its marks */
export function withSections(page: string, sections: readonly Section[]): string {
  const [from, to] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (from < 0 || to < from) throw new Error(`the page has lost its marks: put ${BEGIN} and ${END} back`);
  const kept = new Map<string, string>();
  for (const part of page
    .slice(from + BEGIN.length, to)
    .split(/^### /m)
    .slice(1)) {
    const [name = '', ...rest] = part.split('\n');
    kept.set(name, rest.join('\n').trim());
  }
  for (const { name, text } of sections) kept.set(name, text);
  const body = [...kept].map(([name, text]) => `### ${name}\n\n${text}\n`).join('\n');
  return `${page.slice(0, from)}${BEGIN}\n\n${body}\n${page.slice(to)}`;
}

/** Writes the sections into the file, which is made when it is not there. */
export function writeSections(path: string, sections: readonly Section[]): void {
  const page = existsSync(path) ? readFileSync(path, 'utf8') : NEW_PAGE;
  writeFileSync(path, withSections(page, sections));
}
