// What is mutated by name: the sources of a folder, and the tests that have to notice. Paths and globs from the root.

export interface Area {
  readonly sources: readonly string[];
  readonly tests: readonly string[];
}

export const AREAS: Readonly<Record<string, Area>> = {
  headers: {
    sources: ['proxy/headers/*.ts', 'config/header-names.ts'],
    tests: ['test/proxy/headers/*.test.ts', 'test/config/header-names.test.ts'],
  },
};
