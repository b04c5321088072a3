// `npm run mutate -- headers`, or with globs: `npm run mutate -- --source 'proxy/bodies/s*.ts' --test 'test/proxy/wire/s*.test.ts'`;
// `--every 5` tries each fifth fault only; `--at proxy/routing/rank.ts:33` those of one line, again after a test was mended.
// Puts one small fault after the other into a copy of the tree and runs the tests of the area: a fault that no test
// notices is printed. An endless loop is ended by the limit of processor seconds, which a busy machine does not change.
import { spawn } from 'node:child_process';
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { AREAS } from './areas.ts';
import { mutantsOf, type Mutant } from './mutants.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const COPIED = ['package.json', 'config', 'schemas', 'proxy', 'platform', 'test'];
const ENTRY = 'mutation-entry.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    source: { type: 'string', multiple: true, default: [] },
    test: { type: 'string', multiple: true, default: [] },
    workers: { type: 'string', default: String(Math.min(2, availableParallelism())) },
    every: { type: 'string', default: '1' },
    at: { type: 'string', multiple: true, default: [] },
    'cpu-seconds': { type: 'string', default: '60' },
  },
});

interface Placed extends Mutant {
  readonly file: string;
  readonly text: string;
  /** `file:line`. */
  readonly place: string;
}

const areas = positionals.map((name) => {
  const area = AREAS[name];
  if (area === undefined)
    throw new Error(`there is no area ${name} - one of ${Object.keys(AREAS).join(', ')}`);
  return area;
});
const filesOf = (globs: readonly string[]): string[] => globSync([...globs], { cwd: ROOT }).toSorted();
const sources = filesOf([...values.source, ...areas.flatMap((area) => area.sources)]);
const tests = filesOf([...values.test, ...areas.flatMap((area) => area.tests)]);
if (sources.length === 0 || tests.length === 0) throw new Error('name an area, or --source and --test');
const all = sources.flatMap((file): Placed[] => {
  const text = readFileSync(join(ROOT, file), 'utf8');
  return mutantsOf(file, text).map((mutant) => {
    const line = text.slice(0, mutant.start).split('\n').length;
    return { ...mutant, file, text, place: `${file}:${line}` };
  });
});
const mutants = all
  .filter(({ place }) => values.at.length === 0 || values.at.includes(place))
  .filter((_, n) => n % Number(values.every) === 0); // a sample, where the whole takes too long
let tried = 0;

/** Runs test files in a copy, in one process. @returns whether they pass */
function passes(folder: string, files: readonly string[]): Promise<boolean> {
  writeFileSync(join(folder, ENTRY), files.map((file) => `import './${file}';\n`).join(''));
  const command = `ulimit -t ${Number(values['cpu-seconds'])}; exec "$0" ${ENTRY}`;
  const env = { ...process.env, TAP_BAIL: '1' };
  return new Promise((done) => {
    const child = spawn('sh', ['-c', command, process.execPath], { cwd: folder, env, stdio: 'ignore' });
    child.on('close', (code) => done(code === 0));
  });
}

/** Its own test notices most faults of a file: that runs first, and alone. */
async function isNoticed(folder: string, file: string): Promise<boolean> {
  const own = tests.filter((test) => test === `test/${file.replace(/\.ts$/, '.test.ts')}`);
  const others = tests.filter((test) => !own.includes(test));
  if (own.length > 0 && !(await passes(folder, own))) return true;
  return others.length > 0 && !(await passes(folder, others));
}

async function work(queue: Iterator<Placed>, folder: string): Promise<Placed[]> {
  const survived: Placed[] = [];
  for (let next = queue.next(); next.done !== true; next = queue.next()) {
    const { file, text, start, end, replacement, place } = next.value;
    writeFileSync(join(folder, file), text.slice(0, start) + replacement + text.slice(end));
    if (!(await isNoticed(folder, file))) {
      survived.push(next.value);
      console.log(`survived ${place}: ${text.slice(start, end)} -> ${replacement}`);
    }
    writeFileSync(join(folder, file), text);
    tried += 1;
    if (tried % 50 === 0) console.log(`${tried} of ${mutants.length} tried`);
  }
  return survived;
}

const base = mkdtempSync(join(tmpdir(), 'mutation-'));
try {
  const folders = Array.from({ length: Number(values.workers) }, (_, n) => {
    const folder = join(base, String(n));
    for (const part of COPIED) cpSync(join(ROOT, part), join(folder, part), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    return folder;
  });
  const [first = base] = folders;
  if (!(await passes(first, tests))) throw new Error('the tests fail without a fault');
  console.log(`${mutants.length} faults in ${sources.length} files, ${tests.length} test files`);
  const queue = mutants.values();
  const survived = (await Promise.all(folders.map((folder) => work(queue, folder)))).flat();
  for (const file of sources) {
    const made = mutants.filter((one) => one.file === file).length;
    const left = survived.filter((one) => one.file === file).length;
    console.log(`${file}: ${made - left} of ${made} noticed`);
  }
  const score = (100 * (mutants.length - survived.length)) / Math.max(1, mutants.length);
  console.log(`score ${score.toFixed(1)} %`);
} finally {
  rmSync(base, { recursive: true, force: true });
}
