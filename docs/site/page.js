// One page of the site as HTML: no script but the search's own files, no request to anywhere else.
import { posix } from 'node:path';

const ESCAPES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escaped = (text) => text.replaceAll(/[&<>"]/g, (one) => ESCAPES[one]);

/** A page with fewer sections needs no list of them. */
const LEAST_CONTENTS = 3;

export function htmlOf({ target, title, html, contents }, navigation) {
  const base = posix.relative(posix.dirname(target), '.') || '.';
  const to = (path) => posix.relative(posix.dirname(target), path);
  const groups = navigation.map(({ title: name, pages }) => {
    const isOpen = pages.some((page) => page.target === target);
    const items = pages.map(
      (page) =>
        `<li><a href="${to(page.target)}"${page.target === target ? ' aria-current="page"' : ''}>${escaped(page.title)}</a></li>`,
    );
    return `<details${isOpen ? ' open' : ''}><summary>${escaped(name)}</summary><ul>${items.join('')}</ul></details>`;
  });
  const sections = contents.map(
    ({ title: name, anchor }) => `<li><a href="#${anchor}">${escaped(name)}</a></li>`,
  );
  const list =
    sections.length < LEAST_CONTENTS
      ? ''
      : `<details class="contents"><summary>On this page</summary><ul>${sections.join('')}</ul></details>`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escaped(title)} - Throughline</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${base}/assets/style.css">
<script src="${base}/assets/minisearch.js" defer></script>
<script src="${base}/assets/index.js" defer></script>
<script src="${base}/assets/search.js" data-base="${base}" defer></script>
</head>
<body>
<a class="skip" href="#main">To the text</a>
<header><a class="name" href="${to('index.html')}">Throughline</a>
<search><input type="search" id="search" placeholder="Search ( / )" aria-label="Search the documentation" autocomplete="off"><ol id="results" hidden></ol></search></header>
<div class="columns">
<nav aria-label="Pages">${groups.join('')}</nav>
<main id="main">${list}${html}</main>
</div>
</body>
</html>
`;
}
