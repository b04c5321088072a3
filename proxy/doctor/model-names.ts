// Are the models of the entries among those that the gateway lists? Knows that lists hold patterns and prefixes.
import { nearest } from '../../config/nearest.ts';
import { patternOf } from '../../config/resolve/groups.ts';
import { objectOf, recordOf, type Reply } from './ask.ts';
import type { Entry } from './entries.ts';
import type { Reporter } from './finding.ts';
import type { GatewayClient } from './gateway-group.ts';

/** What a gateway says it serves. */
export interface ListedModels {
  readonly ids: ReadonlySet<string>;
  /** It is the demo gateway, which costs nothing and can echo. */
  readonly isDemo: boolean;
}

const SOME_BYTES = 64 * 1024;
/** Names that are asked for one by one; more would load a gateway. */
const MOST_ASKED = 20;

/** null = the response is no list. */
export function listedModels({ text }: Reply): ListedModels | null {
  const { data } = objectOf(text);
  if (!Array.isArray(data)) return null;
  const models = data.map(recordOf);
  const ids = models.map(({ id }) => id).filter((id) => typeof id === 'string');
  const isDemo = models.length > 0 && models.every(({ owned_by: owner }) => owner === 'demo');
  return { ids: new Set(ids), isDemo };
}

/** @returns the names that it does not serve */
export async function checkModels(
  list: ListedModels,
  client: GatewayClient,
  { timeoutMs }: { readonly timeoutMs: number },
  report: Reporter,
): Promise<ReadonlySet<string>> {
  const { entries } = client.group;
  const patterns = [...list.ids].filter((id) => id.includes('*')).map(patternOf);
  const names = new Map<string, Entry[]>();
  for (const entry of entries) {
    const { upstreamModel } = entry.deployment;
    names.set(upstreamModel, [...(names.get(upstreamModel) ?? []), entry]);
  }
  const unknown = new Set<string>();
  let known = 0;
  let asked = 0;
  for (const [name, members] of names) {
    if (name.includes('*')) {
      const pattern = patternOf(name);
      const matches = [...list.ids].filter((id) => pattern.test(id)).length;
      if (matches > 0) report.passed('models', `${matches} models match ${name}`);
      else report.skipped('models', `nothing in the list of the gateway matches the pattern ${name}`);
      continue;
    }
    if (list.ids.has(name) || patterns.some((pattern) => pattern.test(name))) {
      known += 1;
      continue;
    }
    asked += 1;
    if (asked <= MOST_ASKED && (await isServed(name, client, timeoutMs))) {
      known += 1;
      continue;
    }
    unknown.add(name);
    reportUnknown(name, members, list, report);
  }
  if (known > 0) report.passed('models', `${known} of ${names.size} names are known there`);
  return unknown;
}

/** Some lists leave out what is served: the model itself is asked for. */
async function isServed(name: string, client: GatewayClient, timeoutMs: number): Promise<boolean> {
  const path = `${client.group.deployment.pathPrefix}/models/${name.split('/').map(encodeURIComponent).join('/')}`;
  const asked = await client.ask({ method: 'GET', path }, { timeoutMs, maxBytes: SOME_BYTES });
  return asked.ok && asked.reply.status === 200 && objectOf(asked.reply.text)['id'] === name;
}

function reportUnknown(
  name: string,
  entries: readonly Entry[],
  { ids }: ListedModels,
  report: Reporter,
): void {
  const near = nearestListed(name, ids);
  for (const { deployment, modelPlace } of entries) {
    const prefix = deployment.model.slice(0, Math.max(0, deployment.model.length - name.length));
    const few = [...ids].slice(0, 4).join(', ');
    report.found(
      'models',
      'TL-1506',
      {
        place: modelPlace,
        seen: `the gateway lists ${ids.size} models, not "${name}"${near === null && ids.size > 0 ? `; it has ${few}${ids.size > 4 ? ', ...' : ''}` : ''}`,
        fix:
          near === null
            ? 'write a name that the gateway lists, or add the model there; its key may also not be allowed to see it'
            : `did you mean model: ${prefix}${near}?`,
      },
      `entry ${deployment.group}`,
    );
  }
}

/** The same name behind a provider prefix, else the one with the fewest other letters. */
function nearestListed(name: string, ids: ReadonlySet<string>): string | null {
  const last = name.slice(name.lastIndexOf('/') + 1).toLowerCase();
  const behind = [...ids].find((id) => id.slice(id.lastIndexOf('/') + 1).toLowerCase() === last);
  return behind ?? nearest(name, ids);
}
