// The version of this program.

/** As package.json states it. */
export const VERSION = '0.1.0';
