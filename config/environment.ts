// The environment variables that a configuration refers to.

/** Names and values of environment variables. */
export type Environment = Readonly<Record<string, string | undefined>>;
