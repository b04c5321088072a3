// Loaded into a proxy by `--import`, so that the product needs no hooks: counts calls of its functions (V8's precise
// coverage) and uses of globals that a request must not need. SIGUSR2 prints the counts since the last one on stderr.
import { Session } from 'node:inspector';
import { pathToFileURL } from 'node:url';

/** What one signal prints behind `counts N `, N from 1. */
export interface Counts {
  /** Calls by `file name`, e.g. `proxy/bodies/peek.ts peek`. */
  readonly calls: Readonly<Record<string, number>>;
  readonly urls: number;
  /** Set by the product's own files, by the line that sets them. */
  readonly timers: Readonly<Record<string, number>>;
  /** Texts with the mark in them that were parsed from JSON or made into it: a body in its whole. */
  readonly bodies: number;
  /** Whether Node's own copy of undici is loaded, for nothing: 40 ms and 15 MB at each start. */
  readonly undici: boolean;
}

/** Stands in the message of each counted request. */
export const MARK = 'counted-body';

const nothing = (): { urls: number; timers: Record<string, number>; bodies: number } => ({
  urls: 0,
  timers: {},
  bodies: 0,
});
const counters = nothing();

globalThis.URL = new Proxy(URL, {
  construct: (target, args: [string, string?]) => {
    counters.urls += 1;
    return new target(...args);
  },
  get: (target, key, receiver): unknown => {
    if (key === 'parse' || key === 'canParse') counters.urls += 1;
    return Reflect.get(target, key, receiver);
  },
});

const counting = <F extends (...args: never[]) => unknown>(
  target: F,
  seen: (args: Parameters<F>, made: unknown) => void,
): F =>
  new Proxy(target, {
    apply: (_, self, args: Parameters<F>): unknown => {
      const made: unknown = Reflect.apply(target, self, args);
      seen(args, made);
      return made;
    },
  });
/** They set one timer for all that comes within an interval: on a busy machine that may be a single request. */
const BY_TIME = ['/proxy/spend/journal/', '/proxy/relay/deadlines.ts'];
/** Timers of the product's own files; those of Node's sockets are not among them. */
const timer = (): void => {
  const caller = new Error().stack?.split('\n')[4] ?? '';
  if (!caller.includes('/proxy/') || BY_TIME.some((file) => caller.includes(file))) return;
  const line = caller.slice(caller.indexOf('/proxy/') + 1);
  counters.timers[line] = (counters.timers[line] ?? 0) + 1;
};
const body = (text: unknown): void => {
  if (typeof text === 'string' && text.includes(MARK)) counters.bodies += 1;
};
globalThis.setTimeout = counting(setTimeout, timer);
globalThis.setInterval = counting(setInterval, timer);
JSON.parse = counting(JSON.parse, ([text]) => body(text));
JSON.stringify = counting(JSON.stringify, (_, made) => body(made));

interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly {
      readonly functionName: string;
      readonly ranges: readonly { readonly count: number }[];
    }[];
  }[];
}

const session = new Session();
session.connect();
session.post('Profiler.enable');
session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
const root = pathToFileURL(`${process.argv[1] ?? ''}/../..`).href.replace(/\/?$/, '/');
let printed = 0;

process.on('SIGUSR2', () => {
  session.post('Profiler.takePreciseCoverage', (_error, taken) => {
    const calls: Record<string, number> = {};
    for (const { url, functions } of (taken as Coverage).result) {
      if (!url.startsWith(root) || url.includes('/node_modules/')) continue;
      for (const { functionName, ranges } of functions) {
        const key = `${url.slice(root.length)} ${functionName}`;
        calls[key] = (calls[key] ?? 0) + (ranges[0]?.count ?? 0);
      }
    }
    const { moduleLoadList } = process as unknown as { readonly moduleLoadList: readonly string[] };
    const counts: Counts = {
      calls,
      ...counters,
      undici: moduleLoadList.includes('NativeModule internal/deps/undici/undici'),
    };
    Object.assign(counters, nothing());
    printed += 1;
    process.stderr.write(`counts ${printed} ${JSON.stringify(counts)}\n`);
  });
});
