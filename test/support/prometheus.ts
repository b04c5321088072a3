// A Prometheus for tests: its tools, and a server of our own on a free port of the loopback. Debian: prometheus,
// prometheus-alertmanager.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { freePort } from './free-port.ts';
import { RUN, type Teardown } from './process-cleanup.ts';
import { startProgram } from './server-program.ts';

/** false, or why tests that need the program are skipped. */
export function withoutProgram(...programs: readonly string[]): string | false {
  const missing = programs.find((name) => spawnSync(name, ['--version']).status !== 0);
  return missing === undefined
    ? false
    : `${missing} is not installed (Debian: prometheus, prometheus-alertmanager)`;
}

/** A folder that goes with the test. */
export function folderFor(t: Teardown): string {
  const folder = mkdtempSync(join(tmpdir(), `throughline-prometheus-${RUN}-`));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A server program that says on stderr when it serves. */
export async function startServer(
  t: Teardown,
  program: string,
  args: readonly string[],
  ready: RegExp,
): Promise<void> {
  const server = await startProgram(program, args, { ready });
  t.teardown(() => server.stop());
}

interface Sample {
  readonly metric: Readonly<Record<string, string>>;
}

export interface PrometheusServer {
  readonly url: string;
  /** An instant query. @throws Error with what Prometheus says of the expression */
  query(expr: string): Promise<readonly Sample[]>;
  get(path: string): Promise<unknown>;
}

/** Scrapes and evaluates each second. @param targets host:port by job */
export async function ownPrometheus(
  t: Teardown,
  options: {
    readonly targets: Readonly<Record<string, string>>;
    readonly bearer: string;
    readonly rules: string;
  },
): Promise<PrometheusServer> {
  const folder = folderFor(t);
  const port = await freePort();
  const config = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: [options.rules],
    scrape_configs: Object.entries(options.targets).map(([job, target]) => ({
      job_name: job,
      authorization: { credentials: options.bearer },
      static_configs: [{ targets: [target], labels: { namespace: 'test' } }],
    })),
  };
  writeFileSync(join(folder, 'prometheus.yml'), stringify(config));
  await startServer(
    t,
    'prometheus',
    [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    /Server is ready to receive web requests/,
  );
  const url = `http://127.0.0.1:${port}`;
  const get = async (path: string): Promise<unknown> => {
    const answer = (await (await fetch(`${url}${path}`)).json()) as {
      status: string;
      data: unknown;
      error?: string;
    };
    if (answer.status !== 'success') throw new Error(`${answer.error} in ${decodeURIComponent(path)}`);
    return answer.data;
  };
  return {
    url,
    get,
    query: async (expr) => {
      const data = await get(`/api/v1/query?query=${encodeURIComponent(expr)}`);
      return (data as { result: Sample[] }).result;
    },
  };
}
