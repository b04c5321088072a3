// The environment variables that a configuration refers to.

/** Names and values of environment variables. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Names that are read without being named in a configuration, for what a running process cannot change: see `x-restart`. */
export const START_VARIABLES = /^(?:DATABASE|REDIS|OTEL)_|^SSL_(?:CERT|KEY)FILE_PATH(?:_FILE)?$/;
