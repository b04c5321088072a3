// `throughline models`: every name of `GET /v1/models`, where it comes from, and why one is missing. Asks the gateways of
// entries with `discover_models` for their lists, which costs nothing; calls no model.
import type { ConfigSource } from '../../config/load.ts';
import { nearest } from '../../config/nearest.ts';
import { printable } from '../../config/printable.ts';
import type { Deployment, Snapshot } from '../../config/snapshot.ts';
import { ActiveConfig } from '../active-config/active-config.ts';
import {
  isMissing,
  modelNames,
  type GhostName,
  type ListedName,
  type ListOf,
  type ModelNames,
} from '../active-config/model-names.ts';
import { entriesOf } from '../doctor/entries.ts';
import { bareName, findGroup } from '../pipeline/select-deployment.ts';
import { idleServices } from '../active-config/idle-services.ts';
import { jsonText } from './print.ts';
import { readConfig } from './read-config.ts';
import { CONFIG_FLAG, type Define, type Terminal } from './terminal.ts';

const DESCRIPTION = `Lists every name of GET /v1/models with where it comes from: an entry, the list of a gateway behind a pattern, an alias,
the catalogue. Then the names that are left out, and why. With a name: where that one comes from, or why it is missing.
Gateways of entries with discover_models are asked for their lists; --offline asks nobody.`;

/** Of the JSON: raised when a member changes its meaning. */
const JSON_VERSION = 1;

interface Flags {
  readonly config?: string | undefined;
  readonly json?: true | undefined;
  readonly offline?: true | undefined;
}

export const models: Define = (command, terminal) => {
  command
    .description(DESCRIPTION)
    .argument('[name]', 'explain this one')
    .option(...CONFIG_FLAG)
    .option('--json', 'print one JSON object instead')
    .option('--offline', 'ask no gateway')
    .action(async (name, flags) => terminal.exitWith(await run(name, flags, terminal)));
};

async function run(name: string | undefined, flags: Flags, terminal: Terminal): Promise<number> {
  const { snapshot, source } = readConfig(flags.config, terminal);
  const active = new ActiveConfig(snapshot, idleServices(snapshot));
  try {
    const { discoveredModels } = active.services;
    if (flags.offline !== true)
      await discoveredModels.refresh(active.deployments.values(), snapshot.discovery);
    const listOf: ListOf = (deployment) => discoveredModels.of(deployment);
    const view = new View(snapshot, source, modelNames(snapshot, listOf), listOf);
    if (flags.json === true) terminal.out(jsonText(view.json(name)));
    else terminal.out(name === undefined ? view.text() : view.explain(name, whyNot(active, name)));
    return name === undefined || view.has(name) ? 0 : 1;
  } finally {
    active.retire();
    active.services.pools.destroy();
  }
}

/** Why a call with this name would be refused; null = it would be served. */
function whyNot(active: ActiveConfig, name: string): string | null {
  const found = findGroup(active, name);
  if (typeof found !== 'string') return null;
  return found === 'bare name' ? bareName(active, name).message : 'no entry and no pattern has this name';
}

class View {
  readonly #snapshot: Snapshot;
  readonly #names: ModelNames;
  readonly #listOf: ListOf;
  readonly #places: ReadonlyMap<string, string | null>;

  constructor(snapshot: Snapshot, source: ConfigSource, names: ModelNames, listOf: ListOf) {
    this.#snapshot = snapshot;
    this.#names = names;
    this.#listOf = listOf;
    this.#places = new Map(
      entriesOf(snapshot, source).map(({ deployment, place }) => [deployment.id, place]),
    );
  }

  has(name: string): boolean {
    return this.#names.listed.some((one) => one.name === name);
  }

  text(): string {
    const { listed, ghosts } = this.#names;
    const width = Math.min(48, Math.max(8, ...listed.map(({ name }) => name.length)));
    const lines = listed.map((one) => `${one.name.padEnd(width)}  ${this.#origin(one)}\n`);
    const hidden = ghosts.map((one) => `${one.name.padEnd(width)}  ${this.#whyHidden(one)}\n`);
    const left =
      hidden.length === 0 ? '' : `\nleft out of the list, though they can be called\n${hidden.join('')}`;
    return printed(`${lines.join('')}${left}${this.#gateways()}`);
  }

  explain(name: string, why: string | null): string {
    const found = this.#names.listed.find((one) => one.name === name);
    if (found !== undefined) return printed(`${name}: ${this.#origin(found)}\n`);
    const ghost = this.#names.ghosts.find((one) => one.name === name);
    if (ghost !== undefined) return printed(`${name} is left out: ${this.#whyHidden(ghost)}\n`);
    const near = nearest(
      name,
      this.#names.listed.map((one) => one.name),
    );
    const hint = near === null ? '' : `; did you mean ${near}?`;
    const is = why ?? 'a pattern serves it, but the list of its gateway does not have it';
    return printed(`${name} is not listed: ${is}${hint}\n${this.#gateways()}`);
  }

  json(only: string | undefined): object {
    const isWanted = ({ name }: { readonly name: string }): boolean => only === undefined || name === only;
    return {
      version: JSON_VERSION,
      models: this.#names.listed
        .filter(isWanted)
        .map((one) => ({ name: one.name, from: one.source.is, explanation: this.#origin(one) })),
      left_out: this.#names.ghosts
        .filter(isWanted)
        .map((one) => ({ name: one.name, why: this.#whyHidden(one) })),
      gateways: this.#asked().map((deployment) => {
        const { ids, left, error } = this.#listOf(deployment);
        return { api_base: deployment.apiBase, models: ids?.size ?? null, left_out: left, error };
      }),
    };
  }

  #origin({ source }: ListedName): string {
    switch (source.is) {
      case 'entry':
        return source.deployments.map((one) => this.#entry(one)).join(', ');
      case 'pattern':
        return `a pattern: ${source.deployments.map((one) => this.#entry(one)).join(', ')}`;
      case 'discovered':
        return `${source.upstream} of ${source.deployment.apiBase}, by the pattern ${source.pattern}${this.#at(source.deployment)}`;
      case 'alias':
        return `model_group_alias of ${source.target}`;
      case 'catalogue':
        return 'the catalogue, because * leads to an OpenAI-compatible API';
      default:
        return source satisfies never;
    }
  }

  #entry(deployment: Deployment): string {
    const { upstreamModel, apiBase, discovers } = deployment;
    const list = this.#listOf(deployment);
    let note = '';
    if (discovers && list.ids === null)
      note = `; not asked yet${list.error === null ? '' : ` (${list.error})`}`;
    else if (discovers && !upstreamModel.includes('*'))
      note = isMissing(deployment, list) ? '; not listed there' : '; listed there';
    return `${upstreamModel} at ${apiBase}${this.#at(deployment)}${note}`;
  }

  #at({ id, source }: Deployment): string {
    if (source === 'runtime') return ', added by /model/new';
    const place = this.#places.get(id) ?? null;
    return place === null ? '' : `, ${place}`;
  }

  #whyHidden({ deployments }: GhostName): string {
    return deployments
      .map((one) => {
        const ids = this.#listOf(one).ids ?? new Set<string>();
        const near = nearest(one.upstreamModel, ids);
        const hint = near === null ? '' : `; did you mean ${near}?`;
        return `${one.apiBase} lists ${ids.size} models, not ${one.upstreamModel}${this.#at(one)}${hint}`;
      })
      .join(', ');
  }

  /** One deployment for each gateway that is asked. */
  #asked(): readonly Deployment[] {
    const discovering = this.#snapshot.deployments.filter(({ discovers }) => discovers);
    return [
      ...new Map(discovering.map((one) => [`${one.apiBase} ${one.apiKey?.sha256() ?? ''}`, one])).values(),
    ];
  }

  #gateways(): string {
    const lines = this.#asked().flatMap((deployment) => {
      const { ids, left, error } = this.#listOf(deployment);
      const beyond = left === 0 ? '' : `; ${left} more are beyond model_discovery.max_models`;
      if (error !== null) return [`${deployment.apiBase}: ${error}\n`];
      return ids === null ? [] : [`${deployment.apiBase} lists ${ids.size} models${beyond}\n`];
    });
    return lines.length === 0 ? '' : `\ngateways\n${lines.join('')}`;
  }
}

const printed = (text: string): string =>
  text
    .split('\n')
    .map((line) => printable(line))
    .join('\n');
