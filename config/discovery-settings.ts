// Settings of model discovery (`discover_models`).

/** How gateways are asked for their models. */
export interface DiscoverySettings {
  /** Age at which a list is asked for again. */
  readonly refreshMs: number;
  /** Names that no gateway lists are not listed here. */
  readonly hideMissing: boolean;
  /** Most names of one gateway. */
  readonly maxModels: number;
}
