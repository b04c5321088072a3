// Reads a Dockerfile and follows it without a container engine: each stage is a folder, COPY copies, RUN runs in it. What
// a base image brings is not there.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

export interface Instruction {
  readonly name: string;
  readonly rest: string;
  readonly flags: Readonly<Record<string, string>>;
}

export interface Stage {
  readonly base: string;
  readonly name: string;
  readonly instructions: readonly Instruction[];
}

/** @returns the stages, and what stands before the first FROM */
export function readDockerfile(text: string): {
  readonly global: readonly Instruction[];
  readonly stages: readonly Stage[];
} {
  const lines = text
    .split('\n')
    .filter((line) => !line.startsWith('#'))
    .join('\n')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '');
  const global: Instruction[] = [];
  const stages: (Stage & { instructions: Instruction[] })[] = [];
  for (const line of lines) {
    const [, name = '', all = ''] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? [];
    if (name === '') throw new Error(`not an instruction: ${line}`);
    const [, marks = '', rest = ''] = /^((?:--\S+\s+)*)(.*)$/.exec(all) ?? [];
    const flags = Object.fromEntries(
      [...marks.matchAll(/--([\w-]+)=(\S+)/g)].map(([, key = '', value = '']) => [key, value]),
    );
    if (name === 'FROM') {
      const [base = '', , alias = `${stages.length}`] = rest.split(/\s+/);
      stages.push({ base, name: alias, instructions: [] });
    } else (stages.at(-1)?.instructions ?? global).push({ name, rest, flags });
  }
  return { global, stages };
}

/** The last instruction of this name; '' = there is none. */
export function lastOf(stage: Stage, name: string): string {
  return stage.instructions.findLast((one) => one.name === name)?.rest ?? '';
}

/** `ENV A=1 B="x y"` as an object; LABEL is written the same way. */
export function pairsOf(stage: Stage, name: string): Record<string, string> {
  const all = stage.instructions.filter((one) => one.name === name).map(({ rest }) => rest);
  return Object.fromEntries(
    [...all.join(' ').matchAll(/([\w.]+)=(?:"([^"]*)"|(\S*))/g)].map(([, key = '', quoted, plain]) => [
      key,
      quoted ?? plain ?? '',
    ]),
  );
}

/** Sources and destination of a COPY. */
export function copyOf({ rest }: Instruction): { readonly sources: string[]; readonly target: string } {
  const words = rest.split(/\s+/);
  return { sources: words.slice(0, -1), target: words.at(-1) ?? '' };
}

interface Options {
  readonly context: string;
  /** Where stages become folders. */
  readonly into: string;
  readonly env: NodeJS.ProcessEnv;
  /** Takes the place of a RUN. @returns whether it did */
  readonly instead: (command: string, cwd: string) => boolean;
}

/** Follows all stages. @returns the folder that stands for the root of each, by name. @throws Error with what a RUN said */
export function follow(stages: readonly Stage[], options: Options): ReadonlyMap<string, string> {
  const roots = new Map<string, string>();
  for (const stage of stages) {
    const root = join(options.into, stage.name);
    roots.set(stage.name, root);
    let cwd = '/';
    for (const one of stage.instructions) {
      if (one.name === 'WORKDIR') mkdirSync(join(root, (cwd = one.rest)), { recursive: true });
      if (one.name === 'COPY')
        copy(one, { root, cwd, from: roots.get(one.flags['from'] ?? '') ?? options.context });
      if (one.name === 'RUN') run(one.rest, join(root, cwd), options);
    }
  }
  return roots;
}

function copy(one: Instruction, { root, cwd, from }: { root: string; cwd: string; from: string }): void {
  const { sources, target } = copyOf(one);
  const place = join(root, target.startsWith('/') ? '' : cwd, target);
  for (const name of sources) {
    const source = join(from, name);
    const isFolder = statSync(source).isDirectory();
    // A folder stands for what is in it; a file goes below a target that ends with a slash.
    const end = isFolder || !/\/$|^\.$/.test(target) ? place : join(place, basename(name));
    mkdirSync(dirname(end), { recursive: true });
    cpSync(source, end, { recursive: true, dereference: false, verbatimSymlinks: true });
  }
}

function run(command: string, cwd: string, { env, instead }: Options): void {
  if (instead(command, cwd)) return;
  const { status, stderr, stdout } = spawnSync('/bin/sh', ['-c', command], { cwd, env, encoding: 'utf8' });
  if (status !== 0) throw new Error(`RUN ${command}\n${stdout}${stderr}`);
}

/** Whether the build context has a path, by a .dockerignore that begins with `*` and then lets paths in. */
export function isInContext(context: string, path: string): boolean {
  const [first, ...rest] = readFileSync(join(context, '.dockerignore'), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  if (first !== '*') throw new Error('.dockerignore does not begin with *');
  const isLet = rest.some(
    (line) => line.startsWith('!') && (path === line.slice(1) || path.startsWith(`${line.slice(1)}/`)),
  );
  return isLet && existsSync(join(context, path));
}
