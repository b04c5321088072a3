// From what a runtime has written into its log to what an operator changes in the configuration. Pure.

/** A cause that its log gives away, and what helps. */
interface Hint {
  readonly sign: RegExp;
  readonly fix: string;
}

const HINTS: readonly Hint[] = [
  {
    // LiteLLM 1.105 fetches a table in a thread while it imports; where that fails, the two deadlock.
    sign: /litellm-model-cost-map|model cost map fetch|_ModuleLock\('litellm/,
    fix: "the LiteLLM package in the sandbox fails where it cannot download its prices: add LITELLM_LOCAL_MODEL_COST_MAP: 'True' to initial_env",
  },
  {
    sign: /No module named|ModuleNotFoundError|Cannot find (?:module|package)/,
    fix: 'the packages are not where the command looks: install them into the environment that command names, and list its folder in readable_paths',
  },
  {
    sign: /unrecognized arguments?|unknown option|no such option|unexpected argument|invalid option/i,
    fix: 'its program does not know an option: correct the command of the spec',
  },
  {
    sign: /MemoryError|Cannot allocate memory|can't start new thread|bad_alloc|ENOMEM|out of memory|failed to (?:allocate|reserve|map)/i,
    fix: 'limits.memory_mb is too small: it bounds the address space, so raise it, or remove it',
  },
  {
    sign: /Too many open files|EMFILE/,
    fix: 'raise limits.open_files of the spec',
  },
  {
    sign: /address already in use|EADDRINUSE/i,
    fix: "write '{port}' where the command takes its port: each sandbox gets one of its own",
  },
  {
    sign: /Read-only file system|EROFS/,
    fix: "it writes outside its folder: point it to '{sandbox_dir}' or /tmp by options or initial_env",
  },
  {
    sign: /bwrap: execvp|No such file or directory|FileNotFoundError|cannot open shared object|ENOENT|not found/,
    fix: 'something that it needs is not in the sandbox: add its folder (interpreter, packages, libraries) to readable_paths',
  },
  {
    sign: /Permission denied|EACCES|PermissionError/,
    fix: 'the user of this command may not read or run something: check the owner and mode of the folders in readable_paths',
  },
];

/** What helps against what the log tells; null when it tells nothing known. */
export function hintFor(log: string): string | null {
  return HINTS.find(({ sign }) => sign.test(log))?.fix ?? null;
}

/** The last lines of a log, without empty ones. */
export function lastLines(log: string, count: number): readonly string[] {
  return log
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '')
    .slice(-count);
}
