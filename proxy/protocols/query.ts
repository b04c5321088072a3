// Query parameters that the APIs document. Others could steer the gateway behind the proxy (LiteLLM prefers `?model=` to
// the model of the body), so an endpoint names those that go upstream.

/** How often a parameter may stand: servers differ in which of two they read. */
type Occurrence = 'once' | 'list';

/** The parameters of an endpoint, by their names as they are decoded. */
export type QueryTable = ReadonlyMap<string, Occurrence>;

/** Azure's clients send it with every call (learn.microsoft.com/azure/ai-services/openai/reference). */
export const ANY_CALL: QueryTable = new Map([['api-version', 'once']]);

/** `include` as OpenAPI writes it, and as the official SDKs do. */
const INCLUDE: QueryTable = new Map([
  ['include', 'list'],
  ['include[]', 'list'],
]);

/** `GET /responses/{id}` (platform.openai.com/docs/api-reference/responses/get). */
export const RETRIEVE: QueryTable = new Map<string, Occurrence>([
  ...ANY_CALL,
  ...INCLUDE,
  ['stream', 'once'],
  ['starting_after', 'once'],
  ['include_obfuscation', 'once'],
]);

/** `GET /responses/{id}/input_items` (platform.openai.com/docs/api-reference/responses/input-items). */
export const LIST: QueryTable = new Map<string, Occurrence>([
  ...ANY_CALL,
  ...INCLUDE,
  ['limit', 'once'],
  ['order', 'once'],
  ['after', 'once'],
  ['before', 'once'],
]);

/** Anthropic's clients mark calls of their beta API (`client.beta.messages`) with it; the features stand in a header. */
export const MESSAGES: QueryTable = new Map<string, Occurrence>([...ANY_CALL, ['beta', 'once']]);

/** `alt=sse` asks for events instead of a JSON array (ai.google.dev/api/generate-content#method:-models.streamgeneratecontent). */
export const GENERATE_CONTENT: QueryTable = new Map<string, Occurrence>([...ANY_CALL, ['alt', 'once']]);
