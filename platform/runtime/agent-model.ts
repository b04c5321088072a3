// The spelling of a model with which an agent reaches this proxy. The agent's LiteLLM reads the part before the first slash
// as a provider: without one it refuses a name or picks the provider itself (`claude-...` becomes a Messages call), with
// one it calls that provider. `litellm_proxy/` and `openai/` are the two that call the base URL with the rest as the model. Pure.
import type { ServedModels } from '../../proxy/server/mount.ts';

export interface AgentModel {
  readonly model: string;
  /** Whether the base URL for it ends in `/v1`: LiteLLM's rule for `openai/`; for `litellm_proxy/` it is the root. */
  readonly hasV1: boolean;
}

/** An agent that was told one of these sends the rest of the name. */
const TO_PROXY = ['litellm_proxy/', 'openhands/'];
const TO_OPENAI = 'openai/';
/** LiteLLM takes this off as well, wherever it stands behind one of the others: it chooses a protocol. */
const PROTOCOL = 'responses/';

/** Whether a name that a pattern covers can be one: no environment holds a NUL, and what ends with a slash names nothing. */
// eslint-disable-next-line no-control-regex -- these are meant
export const isModelName = (name: string): boolean => !/[\u0000-\u001f\u007f]|\/$/.test(name);

/** How an agent spells `name`; null = this proxy does not serve it, or no spelling reaches it. */
export function agentModel(name: string, models: Pick<ServedModels, 'find'>): AgentModel | null {
  const direct = models.find(name);
  if (direct === 'listed') return spelled(name);
  if (!isModelName(name)) return null;
  const prefix = TO_PROXY.find((one) => name.startsWith(one));
  if (prefix !== undefined) {
    const rest = name.slice(prefix.length);
    return models.find(rest) === null ? null : spelled(rest);
  }
  const rest = name.startsWith(TO_OPENAI) ? name.slice(TO_OPENAI.length) : null;
  const other = rest === null ? null : models.find(rest);
  // Both may be served where a pattern covers one: what the list names itself is what was meant.
  if (other === 'listed' || (other !== null && direct === null)) return withOpenAi(rest ?? name);
  return direct === null ? null : spelled(name);
}

function spelled(name: string): AgentModel | null {
  // Of two `litellm_proxy/` LiteLLM takes off both.
  if (name.startsWith('litellm_proxy/')) return withOpenAi(name);
  return name.startsWith(PROTOCOL) ? null : { model: `litellm_proxy/${name}`, hasV1: false };
}

function withOpenAi(name: string): AgentModel | null {
  return name.startsWith(PROTOCOL) ? null : { model: `${TO_OPENAI}${name}`, hasV1: true };
}
