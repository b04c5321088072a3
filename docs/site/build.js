// `npm run docs`: the documentation as a static site in docs/site/dist, searchable without a network and also from a folder.
// Markdown is the only source. Fails when a link or an anchor leads nowhere, or a page is not in the navigation.
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, extname, join, posix, relative, resolve } from 'node:path';
import { NAVIGATION } from './navigation.js';
import { htmlOf } from './page.js';

const HERE = import.meta.dirname;
const ROOT = resolve(HERE, '../..');
const DIST = join(HERE, 'dist');

installed();
const { Marked } = await import('marked');
const { default: MiniSearch } = await import('minisearch');

/** npm writes the second file of what it has installed. */
function installed() {
  const versions = (file) =>
    existsSync(file)
      ? Object.entries(JSON.parse(readFileSync(file, 'utf8')).packages).flatMap(([path, { version }]) =>
          path === '' ? [] : [`${path} ${version}`],
        )
      : [];
  const wanted = versions(join(HERE, 'package-lock.json'));
  const present = new Set(versions(join(HERE, 'node_modules/.package-lock.json')));
  if (wanted.every((one) => present.has(one))) return;
  const { status } = spawnSync(
    'npm',
    ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'],
    {
      cwd: HERE,
      stdio: 'inherit',
    },
  );
  if (status !== 0) failed(['npm ci failed in docs/site']);
}

function failed(sentences) {
  for (const sentence of sentences) console.error(sentence);
  process.exit(1);
}

/** The files of the navigation, group by group. */
const groups = NAVIGATION.map(({ title, pages }) => ({
  title,
  pages: pages.flatMap((page) =>
    page.endsWith('/')
      ? readdirSync(join(ROOT, page))
          .filter((name) => extname(name) === '.md')
          .toSorted((a, b) => Number(b === 'README.md') - Number(a === 'README.md') || (a < b ? -1 : 1))
          .map((name) => `${page}${name}`)
      : [page],
  ),
}));
const sources = groups.flatMap(({ pages }) => pages);

/** Where a file of the repository is on the site. */
function targetOf(source) {
  if (source === 'README.md') return 'index.html';
  const path = source.startsWith('docs/') ? source.slice('docs/'.length) : source.toLowerCase();
  return path.replace(/\/readme\.md$/i, '/index.html').replace(/\.md$/, '.html');
}

/** As GitHub makes them, so that links hold in both places. */
function slugger() {
  const seen = new Map();
  return (title) => {
    const slug = title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-');
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    return count === 0 ? slug : `${slug}-${count}`;
  };
}

const problems = [];
/** Links to check when all anchors are known. */
const links = [];
const assets = new Set();
const anchors = new Map();
const entries = [];

/** A path in the repository that a link of a page leads to. */
const repositoryPath = (source, path) => posix.normalize(posix.join(posix.dirname(source), path));

function pageOf(source) {
  const target = targetOf(source);
  const slug = slugger();
  const own = new Set();
  anchors.set(target, own);
  const sections = [{ title: '', anchor: '', text: [] }];
  const said = (text) => sections.at(-1).text.push(text);
  const marked = new Marked({
    gfm: true,
    renderer: {
      heading({ tokens, depth }) {
        const html = this.parser.parseInline(tokens);
        const title = plain(html);
        const anchor = slug(title);
        own.add(anchor);
        sections.push({ title, anchor, text: [] });
        return `<h${depth} id="${anchor}">${html} <a class="anchor" href="#${anchor}" aria-label="Link to this section">#</a></h${depth}>\n`;
      },
      link({ href, tokens }) {
        const html = this.parser.parseInline(tokens);
        const to = linkOf(source, href);
        return to === null ? `<span class="path">${html}</span>` : `<a href="${to}">${html}</a>`;
      },
      image({ href, text }) {
        return `<img src="${assetOf(source, href)}" alt="${escaped(text)}" loading="lazy">`;
      },
      table(token) {
        const row = (cells, tag) =>
          `<tr>${cells.map((cell) => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join('')}</tr>`;
        const body = token.rows.map((cells) => row(cells, 'td')).join('\n');
        for (const cells of token.rows) said(cells.map((cell) => cell.text).join(' '));
        return `<div class="table"><table><thead>${row(token.header, 'th')}</thead><tbody>${body}</tbody></table></div>\n`;
      },
      code({ text, lang }) {
        said(text);
        return `<pre><code${lang ? ` class="language-${escaped(lang)}"` : ''}>${escaped(text)}</code></pre>\n`;
      },
      paragraph({ tokens }) {
        const html = this.parser.parseInline(tokens);
        said(plain(html));
        return `<p>${html}</p>\n`;
      },
      text(token) {
        if (token.tokens === undefined) return token.escaped ? token.text : escaped(token.text);
        const html = this.parser.parseInline(token.tokens);
        said(plain(html));
        return html;
      },
    },
  });
  const text = readFileSync(join(ROOT, source), 'utf8').replaceAll(/<!--[^]*?-->/g, '');
  const html = marked.parse(text);
  const title = sections.find((one) => one.title !== '')?.title ?? basename(source);
  for (const one of sections) {
    if (one.title === '' && one.text.length === 0) continue;
    entries.push({
      id: entries.length,
      url: one.anchor === '' ? target : `${target}#${one.anchor}`,
      page: title,
      title: one.title || title,
      text: one.text.join(' ').replaceAll(/\s+/g, ' '),
    });
  }
  const contents = sections.filter((one) => one.anchor !== '').slice(1);
  return { source, target, title, html, contents };
}

/** @returns null for what is in the repository and not on the site */
function linkOf(source, href) {
  if (/^[a-z]+:/i.test(href)) return escaped(href);
  const [path = '', anchor = ''] = href.split('#', 2);
  const found = path === '' ? source : repositoryPath(source, path);
  const from = targetOf(source);
  const page = [found, `${found}/README.md`.replace('//', '/')].find((one) => sources.includes(one));
  if (page === undefined) {
    if (!existsSync(join(ROOT, found))) problems.push(`${source}: ${href} leads nowhere`);
    else if (found.startsWith('docs/') && extname(found) !== '' && extname(found) !== '.md')
      return assetOf(source, href);
    else if (found.startsWith('docs/') && extname(found) === '.md')
      problems.push(`${source}: ${found} is not in the navigation`);
    return null;
  }
  const target = targetOf(page);
  if (anchor !== '') links.push({ source, href, target, anchor });
  const to = target === from ? '' : posix.relative(posix.dirname(from), target);
  return `${to}${anchor === '' ? '' : `#${anchor}`}` || posix.basename(from);
}

function assetOf(source, href) {
  const found = repositoryPath(source, href);
  if (!existsSync(join(ROOT, found))) problems.push(`${source}: ${href} leads nowhere`);
  assets.add(found);
  return posix.relative(posix.dirname(targetOf(source)), found.replace(/^docs\//, ''));
}

const ENTITIES = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'" };
const plain = (html) =>
  html.replaceAll(/<[^>]+>/g, '').replaceAll(/&(?:amp|lt|gt|quot|#39);/g, (one) => ENTITIES[one]);
const ESCAPES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escaped = (text) => text.replaceAll(/[&<>"]/g, (one) => ESCAPES[one]);

const pages = sources.map(pageOf);
for (const { source, href, target, anchor } of links)
  if (!anchors.get(target)?.has(anchor)) problems.push(`${source}: ${href} has no such section`);
for (const path of globSync('docs/**/*.md', { cwd: ROOT, exclude: (name) => name.includes('node_modules') }))
  if (!sources.includes(path.replaceAll('\\', '/')))
    problems.push(`${path} is not in docs/site/navigation.js`);
if (problems.length > 0) failed(problems);

rmSync(DIST, { recursive: true, force: true });
const byTarget = new Map(pages.map((page) => [page.source, page]));
const navigation = groups.map(({ title, pages: files }) => ({
  title,
  pages: files.map((file) => {
    const { target, title: name } = byTarget.get(file);
    return { target, title: file === 'README.md' ? 'Overview' : name };
  }),
}));
for (const page of pages) {
  const path = join(DIST, page.target);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, htmlOf(page, navigation));
}
for (const asset of assets) {
  const path = join(DIST, asset.replace(/^docs\//, ''));
  mkdirSync(dirname(path), { recursive: true });
  cpSync(join(ROOT, asset), path);
}
const search = new MiniSearch({ fields: ['title', 'page', 'text'], storeFields: ['url', 'page', 'title'] });
search.addAll(entries);
mkdirSync(join(DIST, 'assets'), { recursive: true });
// A script and not JSON: a page that was opened from a folder may not fetch.
writeFileSync(
  join(DIST, 'assets/index.js'),
  `globalThis.searchIndex = ${JSON.stringify(JSON.stringify(search))};\n`,
);
cpSync(join(HERE, 'node_modules/minisearch/dist/umd/index.js'), join(DIST, 'assets/minisearch.js'));
for (const file of ['search.js', 'style.css']) cpSync(join(HERE, file), join(DIST, 'assets', file));
console.log(
  `${pages.length} pages, ${entries.length} sections to search, ${links.length} anchors checked: ${relative(ROOT, DIST)}/index.html`,
);
