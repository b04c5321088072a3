// The gateway kinds there are. A new kind is one file beside this one and one line here.
import type { Dialect } from '../../dialect.ts';
import { compatKind } from './compat.ts';
import type { Kind } from './kind.ts';
import { proxyKind } from './proxy.ts';

const KINDS: readonly Kind[] = Object.freeze([proxyKind, compatKind]);

/** A model name taken apart; `kind` null: no known prefix. */
export interface ModelName {
  readonly kind: Kind | null;
  /** The prefix as written, '' for none. */
  readonly prefix: string;
  /** What goes upstream, verbatim. */
  readonly upstream: string;
}

/**
 * Takes `litellm_params.model` apart. With `provider` (`custom_llm_provider`) the whole name goes upstream, save
 * that the same prefix written once more is taken off.
 */
export function splitModelName(model: string, provider: string | undefined, dialect: Dialect): ModelName {
  const slash = model.indexOf('/');
  const before = slash === -1 ? '' : model.slice(0, slash);
  const prefix = provider ?? before;
  const kind = KINDS.find((one) => one.prefix(dialect) === prefix) ?? null;
  return { kind, prefix, upstream: before === prefix ? model.slice(slash + 1) : model };
}

/** Both rules in one clause, for messages about a prefix that is neither. */
export function kindRules(dialect: Dialect): string {
  return KINDS.map((kind) => kind.rule(dialect)).join(' or ');
}
