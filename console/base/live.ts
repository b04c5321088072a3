// How often the chain is asked for while somebody looks; the server makes one picture of it a second, for all.
export const CHAIN_MS = 2000;
