// A folder with a configuration in it, the demo gateway behind it, the real program in front of it, and a list of the
// calls that reached the gateway: what the rows are compared with.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startDemoGateway, type DemoGateway } from '../../../proxy/demo-gateway/demo-gateway.ts';
import { serveCli, type Cli, type CliOptions } from '../../support/cli.ts';
import { defaultConfig, headerOf } from '../../support/rig.ts';
import type { ScenarioRun } from './scenario-run.ts';

/** No run of the program is meant to last longer than a whole scenario. */
const PATIENCE_MS = 2 * 3_600_000;
const SESSION = 'x-litellm-session-id';

export type Served = Cli & { readonly url: string; readonly port: number };

export interface ProxySetup {
  readonly demo: DemoGateway;
  readonly configPath: string;
  /** Session of each call that the gateway has seen since it was last emptied. */
  readonly seen: string[];
  serve(dataDir: string, flags?: readonly string[], options?: CliOptions): Promise<Served>;
}

/** @param more goes to the end of the configuration, into `general_settings` */
export async function openProxySetup(run: ScenarioRun, more = ''): Promise<ProxySetup> {
  const seen: string[] = [];
  const demo = await startDemoGateway({
    slowMs: 60,
    eventIntervalMs: 15,
    keepSeen: 100,
    onRequest: ({ rawHeaders }) => seen.push(headerOf(rawHeaders, SESSION) ?? 'no session'),
  });
  run.teardown(() => demo.close());
  const configPath = join(run.folder(), 'gateway.yaml');
  writeFileSync(configPath, defaultConfig(demo, more));
  return {
    demo,
    configPath,
    seen,
    serve: (dataDir, flags = [], options = {}) =>
      serveCli(run, configPath, dataDir, flags, { patienceMs: PATIENCE_MS, ...options }),
  };
}
