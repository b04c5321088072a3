// A terminal's text as an SVG: `node bin/picture.js 'TITLE' < text > docs/images/NAME.svg`. Lines that begin with `$ `
// are commands. Pictures in the docs are made of real output, by this.
import { readFileSync } from 'node:fs';

const CHAR_WIDTH = 7.8; // of 13 px in the fonts below
const LINE_HEIGHT = 18;
const TOP = 62;

const title = process.argv[2] ?? '';
const lines = readFileSync(0, 'utf8').trimEnd().split('\n');
const width = Math.ceil(Math.max(...lines.map((line) => line.length)) * CHAR_WIDTH) + 40;
const height = TOP + lines.length * LINE_HEIGHT;

const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const texts = lines.map((line, i) => {
  const kind = line.startsWith('$ ') ? 'cmd' : 'out';
  const y = TOP + i * LINE_HEIGHT;
  return line === ''
    ? ''
    : `  <text x="20" y="${y}" class="${kind}" xml:space="preserve">${escaped(line)}</text>\n`;
});

process.stdout
  .write(`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="t">
  <title id="t">${escaped(title)}</title>
  <style>
    text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre; }
    .out { fill: #c9d1d9; }
    .cmd { fill: #7ee787; }
  </style>
  <rect width="${width}" height="${height}" rx="8" fill="#0d1117"/>
  <circle cx="22" cy="20" r="6" fill="#484f58"/>
  <circle cx="42" cy="20" r="6" fill="#484f58"/>
  <circle cx="62" cy="20" r="6" fill="#484f58"/>
  <line x1="0" y1="40" x2="${width}" y2="40" stroke="#30363d"/>
${texts.join('')}</svg>
`);
