// A Python of the versions that packages ask for, and a virtual environment with pinned packages, made once and kept
// outside the repository's files.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import { ROOT } from '../../support/cli.ts';
import { Missing } from './suite.ts';

/** Names a ready interpreter, with the packages in it. */
const VARIABLE = 'THROUGHLINE_INTEROP_PYTHON';
const CACHE = join(ROOT, 'node_modules', '.cache', 'throughline-interop');
/** Written when everything is installed: an interrupted installation is made anew. */
const COMPLETE = 'complete';

export interface PythonEnvironment {
  readonly python: string;
  /** Folder of its programs. */
  readonly bin: string;
  /** What its programs read: the environment and the interpreter's installation. */
  readonly folders: readonly string[];
  readonly version: string;
}

/**
 * The environment of a requirements file; installs it when it is not there.
 * @param minor the lowest Python 3 that the packages take
 * @throws Missing
 */
export function pythonEnvironment(requirements: string, minor: number): PythonEnvironment {
  const ready = process.env[VARIABLE] ?? '';
  if (ready !== '') return described(ready);
  const interpreter = findPython(minor);
  const text = readFileSync(requirements, 'utf8');
  const digest = createHash('sha256').update(`${interpreter.path}\n${text}`).digest('hex').slice(0, 12);
  mkdirSync(CACHE, { recursive: true });
  // A sandbox is shown the folder under its real path alone.
  const folder = join(realpathSync(CACHE), `${basename(requirements, '.txt')}-${digest}`);
  const python = join(folder, 'bin', 'python');
  if (!existsSync(join(folder, COMPLETE))) {
    console.error(`installing ${basename(requirements)} for Python ${interpreter.version} into ${folder}`);
    rmSync(folder, { recursive: true, force: true });
    must(interpreter.path, ['-m', 'venv', folder], 'apt-get install python3-venv');
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r', requirements];
    must(
      python,
      pip,
      `a package index that has them must be reachable; or set ${VARIABLE} to a Python that has them`,
    );
    writeFileSync(join(folder, COMPLETE), text);
  }
  return described(python);
}

/** The version of a package in an environment. */
export function packageVersion({ python }: PythonEnvironment, name: string): string {
  const code = `import importlib.metadata as m; print(m.version(${JSON.stringify(name)}))`;
  return must(python, ['-c', code], `install ${name}, or unset ${VARIABLE}`).trim();
}

function described(python: string): PythonEnvironment {
  const code = 'import sys; print(sys.prefix, sys.base_prefix, sys.version.split()[0], sep="\\n")';
  const [prefix = '', base = '', version = ''] = must(python, ['-c', code], `check ${VARIABLE}`).split('\n');
  return { python, bin: join(prefix, 'bin'), folders: [...new Set([prefix, base])], version };
}

function findPython(minor: number): { readonly path: string; readonly version: string } {
  const root = process.env['PYENV_ROOT'] ?? join(homedir(), '.pyenv');
  const versions = join(root, 'versions');
  const ofPyenv = existsSync(versions) ? readdirSync(versions) : [];
  const numbered = Array.from({ length: 6 }, (_, above) => `python3.${minor + 5 - above}`);
  const candidates = [
    ...numbered,
    'python3',
    ...ofPyenv.map((name) => join(versions, name, 'bin', 'python')),
  ];
  const found = candidates.flatMap((path) => {
    const code = 'import sys; print(*sys.version_info[:3], sep=".")';
    const { status, stdout } = spawnSync(path, ['-c', code], { encoding: 'utf8' });
    const [, at = '0'] = /^3\.(\d+)\./.exec(stdout ?? '') ?? [];
    return status === 0 && Number(at) >= minor ? [{ path, version: stdout.trim() }] : [];
  });
  const [first] = found;
  if (first !== undefined) return first;
  throw new Missing(
    `no Python 3.${minor} or later was found on PATH or in ${versions} - install one (apt-get install python3 ` +
      `python3-venv, or pyenv install 3.13), or set ${VARIABLE} to a Python that has the packages`,
  );
}

function must(command: string, args: readonly string[], fix: string): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8' });
  if (status === 0) return stdout;
  const told = stderr.replaceAll(/ \(from versions: [^)]*\)/g, ''); // hundreds of them
  const why = error?.message ?? told.trim().split('\n').slice(-3).join(' ');
  throw new Missing(`${command} ${args.join(' ')}: ${why} - ${fix}`);
}
