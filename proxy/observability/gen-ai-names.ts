// Names of span attributes, by OpenTelemetry's conventions for generative AI
// (https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/) as of @opentelemetry/semantic-conventions 1.45.
// Copied, because that package keeps them under an entry point that may change in any minor version.

export const OPERATION_NAME = 'gen_ai.operation.name';
export const PROVIDER_NAME = 'gen_ai.provider.name';
export const REQUEST_MODEL = 'gen_ai.request.model';
export const REQUEST_STREAM = 'gen_ai.request.stream';
export const RESPONSE_MODEL = 'gen_ai.response.model';
export const RESPONSE_ID = 'gen_ai.response.id';
/** Seconds. */
export const RESPONSE_TIME_TO_FIRST_CHUNK = 'gen_ai.response.time_to_first_chunk';
export const CONVERSATION_ID = 'gen_ai.conversation.id';
/** Those read from and written to a cache included. */
export const USAGE_INPUT_TOKENS = 'gen_ai.usage.input_tokens';
/** Those of reasoning included. */
export const USAGE_OUTPUT_TOKENS = 'gen_ai.usage.output_tokens';
export const USAGE_CACHE_READ_INPUT_TOKENS = 'gen_ai.usage.cache_read.input_tokens';
export const USAGE_CACHE_CREATION_INPUT_TOKENS = 'gen_ai.usage.cache_creation.input_tokens';
export const USAGE_REASONING_OUTPUT_TOKENS = 'gen_ai.usage.reasoning.output_tokens';

export const ERROR_TYPE = 'error.type';
export const HTTP_RESPONSE_STATUS_CODE = 'http.response.status_code';
export const SERVER_ADDRESS = 'server.address';
export const SERVER_PORT = 'server.port';
