// docs/compatibility.md, made from the checks, the limits of each gateway and the versions of a run. A run that ends otherwise
// than stated writes nothing, so the page is what was seen.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../support/cli.ts';
import { CHECKS } from './checks.ts';
import { GATEWAYS } from './list.ts';

export const PAGE = join(ROOT, 'docs', 'compatibility.md');

/** @param versions by the name of the gateway */
export function compatibilityPage(versions: Readonly<Record<string, string>>): string {
  const notes: string[] = [];
  const noteOf = (sentence: string): number => {
    if (!notes.includes(sentence)) notes.push(sentence);
    return notes.indexOf(sentence) + 1;
  };
  const rows = CHECKS.map(({ id, title }) => {
    const cells = GATEWAYS.map(({ name, limits }) => {
      const limit = limits[id];
      return limit === undefined ? 'yes' : `${limit.cell} (${noteOf(`${name}: ${limit.why}`)})`;
    });
    return [title, ...cells, `\`${id}\``];
  });
  const columns = ['', ...GATEWAYS.map(({ name }) => `${name} ${versions[name] ?? '?'}`), 'check'];
  return `# Compatibility with other gateways

Each of these gateways stood between this proxy and a scripted provider, and each line was called through it. Written by
\`npm run interop -- --only gateways\`, which writes nothing when one cell ends otherwise than it says here.

${table([columns, ...rows])}

${notes.map((note, at) => `${at + 1}. ${note}`).join('\n')}

"no" and "not offered" are checked too: the same check is played, and must fail for the reason that stands here.

## How each was run

${GATEWAYS.map(({ name, how }) => `- **${name}**: ${how}`).join('\n')}

The provider is the [demo gateway](find-a-fault.md), by a script: no model of a vendor is called. How to set each of them up stands in
[chain](chain.md).

## What each check holds

${table([['check', 'holds'], ...CHECKS.map(({ id, holds }) => [`\`${id}\``, holds])])}

The checks stand in \`test/interop/gateways\`, by these ids. To play them: \`THROUGHLINE_INTEROP_PYTHON\` names a Python that has
LiteLLM (else it is installed), and \`LITELLM_RS_BIN\` the program of litellm-rs; Portkey is installed from npm.
`;
}

/** The versions that a page states. */
export function versionsOf(page: string): Readonly<Record<string, string>> {
  const [, header = ''] = /^\|([^\n]*)\|$/m.exec(page) ?? [];
  const titles = header.split('|').map((title) => title.trim());
  return Object.fromEntries(
    GATEWAYS.map(({ name }) => {
      const title = titles.find((one) => one.startsWith(`${name} `)) ?? name;
      return [name, title.slice(name.length + 1)];
    }),
  );
}

export function writePage(versions: Readonly<Record<string, string>>): string {
  writeFileSync(PAGE, compatibilityPage(versions));
  return 'docs/compatibility.md is written';
}

/** Columns of one width, as the formatter of this repository writes them. */
function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(3, ...rows.map((row) => (row[at] ?? '').length)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`;
  const [head = [], ...body] = rows;
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [line(head), rule, ...body.map(line)].join('\n');
}
