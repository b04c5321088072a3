// Where the configuration states keys, teams and budgets: file and line, for commands that explain.
import type { ConfigSource } from '../../config/load.ts';
import { nodeAt, pathText, placeIn, type Path, type Tree } from '../../config/tree.ts';
import type { Cap } from '../access/budgets/caps.ts';

export class ConfigPlaces {
  readonly #tree: Tree;

  constructor({ tree }: ConfigSource) {
    this.#tree = tree;
  }

  /** `gateway.yaml:12 keys[0]` */
  at(path: Path): string {
    const node = nodeAt(this.#tree, path);
    if (node === undefined) return pathText(path);
    return `${node.file.name}:${placeIn(node.file, node.offset).line} ${pathText(path)}`;
  }

  /** The entry of a list with this member. */
  entry(list: 'keys' | 'teams', member: string, value: string): string {
    const index = this.#entries(list).findIndex((_, i) => this.#text([list, i, member]) === value);
    return index < 0 ? list : this.at([list, index]);
  }

  /** The rule that a cap is of. */
  rule({ scope: { kind, id }, durationText }: Cap): string {
    const isOf = (index: number, wanted: string): boolean =>
      this.#text(['budgets', index, 'scope']) === kind &&
      this.#text(['budgets', index, 'id']) === wanted &&
      this.#text(['budgets', index, 'budget_duration']) === (durationText ?? '');
    for (const wanted of [id, '*']) {
      const index = this.#entries('budgets').findIndex((_, i) => isOf(i, wanted));
      if (index >= 0) return this.at(['budgets', index]);
    }
    const path = (DIALECT[kind] ?? [])
      .map((one) => one(id))
      .find((one) => nodeAt(this.#tree, one) !== undefined);
    return path === undefined ? 'the configuration' : this.at(path);
  }

  #entries(list: string): readonly Tree[] {
    const node = nodeAt(this.#tree, [list]);
    return node?.kind === 'list' ? node.items : [];
  }

  /** '' = not stated. */
  #text(path: Path): string {
    const node = nodeAt(this.#tree, path);
    return node?.kind === 'scalar' ? String(node.value) : '';
  }
}

/** The dialect's own places of budgets. */
const DIALECT: Partial<Readonly<Record<Cap['scope']['kind'], readonly ((id: string) => Path)[]>>> = {
  proxy: [() => ['litellm_settings', 'max_budget'], () => ['general_settings', 'max_budget']],
  end_user: [
    () => ['litellm_settings', 'max_end_user_budget'],
    () => ['litellm_settings', 'max_user_budget'],
  ],
  conversation: [() => ['litellm_settings', 'max_budget_per_session']],
  tag: [(id) => ['litellm_settings', 'tag_budget_config', id]],
  provider: [(id) => ['router_settings', 'provider_budget_config', id]],
  deployment: [() => ['model_list']],
};
