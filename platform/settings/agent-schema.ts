// The agent's own schemas of its settings (exported by schemas/agent/export.py), as checks. The agent ignores members that
// it does not know; here they are refused, since a member that nobody reads is a setting that was lost.
import exported from '../../schemas/agent/settings.json' with { type: 'json' };
import type { Schema } from '../api/description.ts';
import { Validation, type Check } from '../api/validation.ts';
import { isTree, own } from './secrets.ts';

type Tree = Readonly<Record<string, unknown>>;

const DEFINITIONS = exported.$defs as unknown as Readonly<Record<string, Tree>>;
/** A member of older versions that profiles of the platform still have; the agent leaves it out. */
const LLM_OF_OLD = { modify_params: { type: 'boolean' } };

export interface AgentChecks {
  /** Of `{ agent_settings_diff: settings }`. */
  readonly openhands: Check;
  readonly acp: Check;
  /** Of `{ conversation_settings_diff: settings }`. */
  readonly conversation: Check;
}

/** The checks; each is compiled once in a process, which takes 50 ms. */
export function agentChecks(): AgentChecks {
  return CHECKS;
}

function madeChecks(): AgentChecks {
  const schemas = Object.fromEntries(
    Object.entries(DEFINITIONS).map(([name, definition]) => [
      name,
      strict(withOlder(name, definition)) as Schema,
    ]),
  );
  const validation = new Validation({ components: { schemas } });
  const of = (member: string, name: string): Check =>
    validation.of({ properties: { [member]: { $ref: `#/components/schemas/${name}` } } });
  return {
    openhands: of('agent_settings_diff', 'OpenHandsAgentSettings'),
    acp: of('agent_settings_diff', 'ACPAgentSettings'),
    conversation: of('conversation_settings_diff', 'ConversationSettings'),
  };
}

function withOlder(name: string, definition: Tree): Tree {
  const properties = definition['properties'];
  return name === 'LLM' && isTree(properties)
    ? { ...definition, properties: { ...properties, ...LLM_OF_OLD } }
    : definition;
}

/** Unknown members are forbidden, and of alternatives the one that its tag names is the one that is checked. */
function strict(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(strict);
  if (!isTree(value)) return value;
  const alternatives = value['oneOf'];
  if (Array.isArray(alternatives)) return branched(alternatives as readonly { readonly $ref: string }[]);
  const entries = Object.entries(value).map(([name, inner]) => [
    name,
    name === '$ref' && typeof inner === 'string' ? pointer(inner) : strict(inner),
  ]);
  const closed = isTree(value['properties']) && value['additionalProperties'] === undefined;
  return { ...Object.fromEntries(entries), ...(closed ? { additionalProperties: false } : {}) };
}

const pointer = (reference: string): string => reference.replace('#/$defs/', '#/components/schemas/');

/** A union as if and then, since errors of all its branches together say nothing. */
function branched(alternatives: readonly { readonly $ref: string }[]): object {
  const branches = alternatives.map(({ $ref }) => ({ $ref, properties: propertiesOf($ref) }));
  const [first] = branches;
  const tag = Object.keys(first?.properties ?? {}).find((name) =>
    branches.every(({ properties }) => tagOf(properties, name) !== undefined),
  );
  if (first === undefined || tag === undefined) throw new Error('a union of the agent settings has no tag');
  const tags = branches.map(({ properties }) => tagOf(properties, tag));
  // A tag with a default may be left out; then the first branch is meant.
  const { default: fallback } = first.properties[tag] as { readonly default?: unknown };
  return {
    type: 'object',
    properties: { [tag]: { enum: tags } },
    required: fallback === undefined ? [tag] : [],
    allOf: branches.map(({ $ref }, index) => {
      const isOther = {
        not: {
          properties: { [tag]: { const: tags[index] } },
          required: index === 0 && fallback !== undefined ? [] : [tag],
        },
      };
      return { if: isOther, else: { $ref: pointer($ref) } };
    }),
  };
}

function propertiesOf(reference: string): Tree {
  const properties = DEFINITIONS[reference.replace('#/$defs/', '')]?.['properties'];
  return isTree(properties) ? properties : {};
}

function tagOf(properties: Tree, name: string): unknown {
  const property = own(properties, name);
  return isTree(property) ? property['const'] : undefined;
}

const CHECKS = madeChecks();
