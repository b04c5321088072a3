// A CPU profile of V8 as a flame graph in SVG: a picture without scripts that a Markdown page can show. Pure.

/** A `.cpuprofile`; times in microseconds of CLOCK_MONOTONIC. */
export interface CpuProfile {
  readonly startTime: number;
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: {
      readonly functionName: string;
      readonly url: string;
      readonly lineNumber: number;
    };
    readonly children?: readonly number[];
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

interface Frame {
  readonly name: string;
  readonly place: string;
  readonly kind: Kind;
  readonly below: Map<string, Frame>;
  us: number;
}

type Kind = 'proxy' | 'package' | 'node' | 'engine';

const COLORS: Readonly<Record<Kind, string>> = {
  proxy: '#f2a65a',
  package: '#8fb8de',
  node: '#b9d8a8',
  engine: '#cfcfcf',
};
const WORDS: Readonly<Record<Kind, string>> = {
  proxy: 'the proxy',
  package: 'packages (undici, pino, prom-client)',
  node: 'Node',
  engine: 'V8: collection, system calls',
};
const WIDTH = 1200;
const ROW = 17;
const TOP = 56;
const LETTER = 6.3;
/** Narrower frames could neither be read nor hit by a mouse. */
const LEAST = 1.5;
const IDLE: ReadonlySet<string> = new Set(['(idle)', '(root)']);

function kindOf(url: string): Kind {
  if (url.includes('/node_modules/')) return 'package';
  if (/\/(proxy|config)\//.test(url)) return 'proxy';
  return url.startsWith('node:') ? 'node' : 'engine';
}

function frame(name: string, url: string, line: number): Frame {
  const file = url.replace(/^.*\/node_modules\//, '').replace(/^.*\/(?=(?:proxy|config)\/)/, '');
  const place = file === '' ? '' : `${file}:${line + 1}`;
  return { name: name === '' ? '(anonymous)' : name, place, kind: kindOf(url), below: new Map(), us: 0 };
}

/** Time of the busy samples from `fromUs` on, summed by stack. */
function summed(profile: CpuProfile, fromUs: number): Frame {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const parents = new Map(
    profile.nodes.flatMap(({ id, children }) => (children ?? []).map((one) => [one, id])),
  );
  const all = frame('all', '', 0);
  let now = profile.startTime;
  profile.samples.forEach((sample, i) => {
    const us = profile.timeDeltas[i] ?? 0;
    now += us;
    if (now < fromUs || IDLE.has(nodes.get(sample)?.callFrame.functionName ?? '')) return;
    const stack: number[] = [];
    for (let id: number | undefined = sample; id !== undefined; id = parents.get(id)) stack.push(id);
    all.us += us;
    let at = all;
    for (const id of stack.reverse().slice(1)) {
      const { functionName, url, lineNumber } = nodes.get(id)?.callFrame ?? {
        functionName: '',
        url: '',
        lineNumber: 0,
      };
      const key = `${functionName} ${url}:${lineNumber}`;
      const next = at.below.get(key) ?? frame(functionName, url, lineNumber);
      at.below.set(key, next);
      next.us += us;
      at = next;
    }
  });
  return all;
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** Callers above callees, as wide as their share of the busy time; a pointer on a frame shows its place. */
export function flameGraph(profile: CpuProfile, title: string, fromUs = 0): string {
  const all = summed(profile, fromUs);
  if (all.us === 0) throw new Error('the profile holds no busy time');
  const boxes: string[] = [];
  let depth = 0;
  const draw = (one: Frame, x: number, level: number): void => {
    const width = (one.us / all.us) * WIDTH;
    if (width < LEAST) return;
    depth = Math.max(depth, level);
    const y = TOP + level * ROW;
    const letters = Math.floor((width - 4) / LETTER);
    const label = letters < 3 ? '' : one.name.slice(0, letters);
    const share = `${((one.us / all.us) * 100).toFixed(1)} %`;
    boxes.push(
      `<g><title>${escaped(`${one.name} ${one.place} ${share}`)}</title>` +
        `<rect x="${x.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${ROW - 1}" fill="${COLORS[one.kind]}"/>` +
        (label === '' ? '' : `<text x="${(x + 2).toFixed(1)}" y="${y + 12}">${escaped(label)}</text>`) +
        '</g>',
    );
    let left = x;
    for (const inner of [...one.below.values()].toSorted((a, b) => b.us - a.us)) {
      draw(inner, left, level + 1);
      left += (inner.us / all.us) * WIDTH;
    }
  };
  draw(all, 0, 0);
  const legend = Object.entries(WORDS).map(
    ([kind, words], i) =>
      `<rect x="${4 + i * 290}" y="32" width="11" height="11" fill="${COLORS[kind as Kind]}"/><text x="${20 + i * 290}" y="42">${words}</text>`,
  );
  const height = TOP + (depth + 1) * ROW + 4;
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="monospace" font-size="10.5">\n` +
    `<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>\n` +
    `<text x="4" y="18">${escaped(title)}</text>\n${legend.join('\n')}\n${boxes.join('\n')}\n</svg>\n`
  );
}
