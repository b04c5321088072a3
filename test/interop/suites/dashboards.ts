// The dashboards against Grafana's published schema: read into the classes that Grafana generates of it (PyPI), and written again.
// What does not come back is a member that Grafana does not know.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../support/cli.ts';
import { packageVersion, pythonEnvironment } from '../harness/python.ts';
import type { Suite } from '../harness/suite.ts';

const REQUIREMENTS = join(ROOT, 'test/interop/dashboards.txt');
const PROGRAM = join(ROOT, 'test/interop/programs/dashboard-members.py');
const FOLDER = join(ROOT, 'charts/throughline/dashboards');
/** The lowest Python 3 of the package. */
const MINOR = 11;
/** Of the data source Prometheus and of the editor, which the schema of a dashboard leaves to them. */
const OF_OTHERS =
  /^\/annotations\/list\/\d+\/(?:step|titleFormat|textFormat)$|^\/templating\/list\/\d+\/definition$/;

export const dashboards: Suite = {
  name: 'dashboards',
  about: "the dashboards against Grafana's published schema",
  prepare: async () => {
    const python = pythonEnvironment(REQUIREMENTS, MINOR);
    const lostOf = (text: string): string[] => {
      const { status, stdout, stderr } = spawnSync(python.python, [PROGRAM], {
        input: text,
        encoding: 'utf8',
      });
      if (status !== 0) throw new Error(stderr);
      return (JSON.parse(stdout) as string[]).filter((path) => !OF_OTHERS.test(path));
    };
    const files = readdirSync(FOLDER).map(
      (name) => [name, readFileSync(join(FOLDER, name), 'utf8')] as const,
    );
    return {
      software: `grafana-foundation-sdk ${packageVersion(python, 'grafana-foundation-sdk')}`,
      cases: [
        ...files.map(([name, text]) => ({
          name: `${name} has no member that Grafana does not know`,
          play: async () => {
            const lost = lostOf(text);
            if (lost.length > 0) throw new Error(`not in the schema: ${lost.join(', ')}`);
            return `${text.match(/"gridPos"/g)?.length ?? 0} panels`;
          },
        })),
        {
          name: 'a planted mistake is found',
          play: async () => {
            const [, text = ''] = files[0] ?? [];
            const lost = lostOf(
              text
                .replace('"gridPos"', '"gridPost"')
                .replace('"fieldConfig": {', '"fieldConfig": { "deflauts": {},'),
            );
            if (lost.length !== 2) throw new Error(`found: ${lost.join(', ')}`);
            return lost.join(' ');
          },
        },
      ],
    };
  },
};
