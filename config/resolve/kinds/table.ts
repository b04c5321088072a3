// All kinds of upstreams. A new kind is one row of vendors.ts, or one file beside this one and one line here.
import type { Dialect } from '../../dialect.ts';
import { shownName } from '../../shown.ts';
import { anthropicKind } from './anthropic.ts';
import { azureKind } from './azure.ts';
import { bareVendorOf } from './bare-names.ts';
import { compatKind } from './compat.ts';
import { geminiKind } from './gemini.ts';
import type { Kind } from './kind.ts';
import { proxyKind } from './proxy.ts';
import { signatureOf } from './signed.ts';
import { VENDORS } from './vendors.ts';

export const KINDS: readonly Kind[] = Object.freeze([
  proxyKind,
  compatKind,
  anthropicKind,
  azureKind,
  geminiKind,
  ...VENDORS,
]);

/** Those that lead to another gateway. */
const CHAIN: readonly Kind[] = [proxyKind, compatKind];

/** Without the slash. */
export const VENDOR_PREFIXES: readonly string[] = KINDS.filter((kind) => !CHAIN.includes(kind)).map(
  ({ name }) => name,
);

/** The parts of a model name; `kind` null = no known prefix. */
export interface ModelName {
  readonly kind: Kind | null;
  /** The prefix as written, '' for none; of a bare name that is known, its vendor's. */
  readonly prefix: string;
  /** The name that is sent upstream. */
  readonly upstream: string;
  /** The name says that the model is asked for by responses: `azure/responses/NAME`. */
  readonly byResponses: boolean;
}

/** As LiteLLM writes it (responses/bridge_check.py); it is no part of the name that goes upstream. */
const BY_RESPONSES = 'responses/';

/**
 * Splits `litellm_params.model` into prefix and name. With `provider` (`custom_llm_provider`) the whole name goes upstream,
 * except that the same prefix in the name is removed.
 */
export function splitModelName(model: string, provider: string | undefined, dialect: Dialect): ModelName {
  const slash = model.indexOf('/');
  const before = slash === -1 ? '' : model.slice(0, slash);
  const prefix = provider ?? before;
  if (prefix === '' && provider === undefined) return bareName(model, dialect);
  const kind = KINDS.find((one) => one.prefix(dialect) === prefix) ?? null;
  const whole = before === prefix ? model.slice(slash + 1) : model;
  const byResponses = kind !== null && maySpeakResponses(kind) && whole.startsWith(BY_RESPONSES);
  const name = byResponses ? whole.slice(BY_RESPONSES.length) : whole;
  return { kind, prefix, upstream: kind?.upstreamName(name) ?? name, byResponses };
}

/** Whether a call may be made one of responses. A gateway of LiteLLM's dialect does so itself, and knows its models by their names. */
export function maySpeakResponses({ name, serves }: Kind): boolean {
  return name !== proxyKind.name && serves?.has('responses') !== false;
}

function bareName(model: string, dialect: Dialect): ModelName {
  const vendor = bareVendorOf(model);
  if (vendor === null) return { kind: null, prefix: '', upstream: model, byResponses: false };
  const kind = vendor === 'openai' ? compatKind : anthropicKind;
  return { kind, prefix: kind.prefix(dialect), upstream: model, byResponses: false };
}

/** What is wrong with `azure/`, which LiteLLM takes, and what to write. */
export const NO_NAME = [
  'has no model name after the prefix',
  'write the name that the upstream uses',
] as const;

/** Why no kind is found, and what to write. */
export function unsupported(
  { prefix }: Pick<ModelName, 'prefix'>,
  dialect: Dialect,
): { what: string; fix: string } {
  const signature = signatureOf(prefix);
  if (signature !== null)
    return {
      what: `${shownName(prefix)} is left out: its calls need ${signature}, which this proxy does not make`,
      fix: `let a gateway that does stand in front of it, and write ${proxyKind.rule(dialect)}`,
    };
  const what =
    prefix === '' ? 'has no provider prefix' : `${shownName(prefix)} is not a supported provider prefix`;
  return { what, fix: `write ${kindRules(dialect)}` };
}

/** The rules of all kinds in one clause, for messages about an unknown prefix. */
export function kindRules(dialect: Dialect): string {
  const vendors = VENDOR_PREFIXES.map((prefix) => `${prefix}/`);
  return `${CHAIN.map((kind) => kind.rule(dialect)).join(' or ')}; vendors by their names: ${vendors.join(', ')}`;
}
