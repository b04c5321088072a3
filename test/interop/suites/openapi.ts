// The description of the API against the proxy, by schemathesis: requests made from /openapi.json, good ones and bad ones, and
// answers compared with what it states. On this machine alone, with the demo gateway behind the proxy.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { ROOT } from '../../support/cli.ts';
import { defaultConfig, KEY, startRig } from '../../support/rig.ts';
import { packageVersion, pythonEnvironment } from '../harness/python.ts';
import type { Case, InteropRun, Suite } from '../harness/suite.ts';

/** Python packages, pinned. */
const REQUIREMENTS = join(ROOT, 'test/interop/openapi.txt');
/** The lowest Python 3 of schemathesis 4. */
const MINOR = 10;
/**
 * Not `positive_data_acceptance`: whether a body is accepted depends on what is stored (a team that exists, an alias that is
 * free), which no schema says.
 */
const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
  'negative_data_rejection',
  'unsupported_method',
  'ignored_auth',
  'missing_required_header',
];
/**
 * Not QUERY, a method that the proxy does not know: 400. Not GET, which it would send with a body: 400 bad_framing. A list of more
 * items than a schema allows makes a body of more bytes than is read: 413.
 */
const SETTINGS = `[phases.coverage]
unexpected-methods = ["PUT", "POST", "DELETE", "OPTIONS", "PATCH", "TRACE"]

[checks.negative_data_rejection]
expected-statuses = ["400", "401", "403", "404", "405", "406", "409", "413", "415", "422", "428", "429", "5xx"]
`;
const BRAKE = `brake: {}
`;

/** Of a group, in seconds. A busy machine gets through fewer cases: `SCHEMATHESIS_SECONDS=600` for all of them. */
const LONGEST_S = Number(process.env['SCHEMATHESIS_SECONDS'] ?? 60);

/** Each group of operations, with a proxy of its own: what one stores is nothing to the next. */
const GROUPS: readonly {
  readonly name: string;
  readonly args: readonly string[];
  readonly examples: number;
}[] = [
  {
    name: 'listings, health, spend, administration',
    args: [
      '--exclude-tag',
      'LLM calls',
      '--exclude-tag',
      'keys',
      '--exclude-tag',
      'users',
      '--exclude-tag',
      'teams',
    ],
    examples: 15,
  },
  {
    name: 'keys, users, teams',
    args: ['--include-tag', 'keys', '--include-tag', 'users', '--include-tag', 'teams'],
    examples: 15,
  },
  { name: 'LLM calls', args: ['--include-tag', 'LLM calls'], examples: 10 },
];

export const openapi: Suite = {
  name: 'openapi',
  about: 'requests that schemathesis makes of /openapi.json, and their answers',
  prepare: async (run) => {
    const python = pythonEnvironment(REQUIREMENTS, MINOR);
    const program = join(python.bin, 'schemathesis');
    return {
      software: `schemathesis ${packageVersion(python, 'schemathesis')}, Python ${python.version}`,
      cases: GROUPS.map((group) => playGroup(run, program, group)),
    };
  },
};

function playGroup(
  run: InteropRun,
  program: string,
  { name, args, examples }: (typeof GROUPS)[number],
): Case {
  return {
    name,
    play: async () => {
      const rig = await startRig(run, { config: (demo) => `${defaultConfig(demo)}${BRAKE}` });
      const folder = run.folder();
      writeFileSync(join(folder, 'schemathesis.toml'), SETTINGS);
      const child = spawn(
        program,
        [
          ...['run', `${rig.url}/openapi.json`, '--url', rig.url, '-H', `Authorization: Bearer ${KEY}`],
          ...['--checks', CHECKS.join(','), '--phases', 'examples,coverage,fuzzing', '--no-color'],
          ...['--max-examples', String(examples), '--seed', '1', '--workers', '1', '--continue-on-failure'],
          ...['--generation-database', 'none', '--request-timeout', '60', '--max-time', String(LONGEST_S)],
          // Streams: silent for as long as is asked, and without an end.
          ...['--exclude-path', '/doctor/stream'],
          ...['--exclude-path', '/spend/rows/live'],
          ...args,
        ],
        { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] },
      );
      run.teardown(() => child.kill());
      const [out, [code]] = await Promise.all([text(child.stdout), once(child, 'close')]);
      const summary = out.slice(out.lastIndexOf('SUMMARY'));
      if (code !== 0) throw new Error(`schemathesis found something\n${out}`);
      await rig.stop();
      return /Test cases:\n.*?(\d+) generated/s.exec(summary)?.[0].replaceAll(/\s+/g, ' ') ?? 'no failure';
    },
  };
}
