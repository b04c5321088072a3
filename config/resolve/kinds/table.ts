// All gateway kinds. A new kind is one file beside this one and one line here.
import type { Dialect } from '../../dialect.ts';
import { compatKind } from './compat.ts';
import type { Kind } from './kind.ts';
import { proxyKind } from './proxy.ts';

export const KINDS: readonly Kind[] = Object.freeze([proxyKind, compatKind]);

/** The parts of a model name; `kind` null = no known prefix. */
export interface ModelName {
  readonly kind: Kind | null;
  /** The prefix as written, '' for none. */
  readonly prefix: string;
  /** The name that is sent upstream. */
  readonly upstream: string;
}

/**
 * Splits `litellm_params.model` into prefix and name. With `provider` (`custom_llm_provider`) the whole name goes upstream,
 * except that the same prefix in the name is removed.
 */
export function splitModelName(model: string, provider: string | undefined, dialect: Dialect): ModelName {
  const slash = model.indexOf('/');
  const before = slash === -1 ? '' : model.slice(0, slash);
  const prefix = provider ?? before;
  const kind = KINDS.find((one) => one.prefix(dialect) === prefix) ?? null;
  return { kind, prefix, upstream: before === prefix ? model.slice(slash + 1) : model };
}

/** The rules of all kinds in one clause, for messages about an unknown prefix. */
export function kindRules(dialect: Dialect): string {
  return KINDS.map((kind) => kind.rule(dialect)).join(' or ');
}
