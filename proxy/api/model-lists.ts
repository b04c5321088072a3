// The list of models as the clients of other APIs read it: Anthropic's (Claude Code), Gemini's, and what Codex looks for. The names
// are those of the caller's own list.
import type { AuthenticatedCaller } from '../access/caller.ts';
import { serves } from '../access/team-deployments.ts';
import { CREATED } from '../active-config/listings.ts';
import { Fault } from '../errors/fault.ts';
import { isListedFor, modelNamesOf } from '../pipeline/models-of-caller.ts';
import { sendJson } from '../pipeline/respond.ts';
import type { Exchange } from '../pipeline/exchange.ts';
import { gemini } from '../protocols/gemini.ts';

/** Anthropic's clients read another form, and all of them send this header. */
export const isAnthropics = ({ req }: Pick<Exchange, 'req'>): boolean =>
  req.header('anthropic-version') !== null;

/** docs.anthropic.com/en/api/models-list: asked for with the header that all of its clients send. One page has all. */
export function sendAnthropicModels(x: Exchange, caller: AuthenticatedCaller): void {
  const names = modelNamesOf(x.active, caller);
  const data = names.map(anthropicModel);
  sendJson(x, { data, has_more: false, first_id: names[0] ?? null, last_id: names.at(-1) ?? null });
}

/** One of that list. */
export function anthropicModel(id: string): object {
  return { type: 'model', id, display_name: id, created_at: new Date(CREATED * 1000).toISOString() };
}

/**
 * Codex sends its version, and reads `models`, whose items describe a model as only its vendor can: an empty list lets it go by
 * what it knows itself.
 */
export function sendCodexModels(x: Exchange, list: Buffer): void {
  sendJson(x, { ...(JSON.parse(list.toString()) as object), models: [] });
}

/** `GET /v1beta/models` (ai.google.dev/api/models#method:-models.list) */
export function listGeminiModels(x: Exchange, caller: AuthenticatedCaller): void {
  sendJson(x, { models: modelNamesOf(x.active, caller).map((id) => geminiModel(x, caller, id)) });
}

/** `GET /v1beta/models/{id}` */
export function oneGeminiModel(x: Exchange, caller: AuthenticatedCaller, id: string): void {
  if (!isListedFor(x.active, caller, id))
    throw new Fault('model_not_found', `The model \`${id.slice(0, 100)}\` does not exist on this proxy.`);
  sendJson(x, geminiModel(x, caller, id));
}

function geminiModel({ active }: Exchange, caller: AuthenticatedCaller, id: string): object {
  const { bound } = active.modelAccess.of(caller);
  const first = active.groups.get(id)?.find(({ config }) => serves(bound, config));
  const facts = first?.config.knownFacts ?? {};
  return {
    name: `models/${id}`,
    version: '1',
    displayName: id,
    inputTokenLimit: limitOf(facts['max_input_tokens']),
    outputTokenLimit: limitOf(facts['max_output_tokens']),
    supportedGenerationMethods: gemini.endpoints.map(({ path }) => path.slice(path.indexOf(':') + 1)),
  };
}

const limitOf = (limit: unknown): number | undefined => (typeof limit === 'number' ? limit : undefined);
