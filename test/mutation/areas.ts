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
  bodies: {
    sources: ['proxy/bodies/*.ts'],
    tests: ['test/proxy/bodies/*.test.ts'],
  },
  routing: {
    sources: ['proxy/routing/*.ts'],
    tests: ['test/proxy/routing/*.test.ts'],
  },
  'spend/record': {
    sources: ['proxy/spend/record/*.ts'],
    tests: ['test/proxy/spend/record/*.test.ts'],
  },
};
