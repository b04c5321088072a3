// `npm run check`: types, lint, format, unused code, generated files. Runs all of them and says which failed.
import { spawnSync } from 'node:child_process';

const CHECKS = [
  ['types', 'tsc', ['-p', 'tsconfig.json']],
  ['console: types, and dist is what its sources build', 'node', ['console/build.js', '--check']],
  ['lint', 'oxlint', ['--type-aware', '--deny-warnings', '.']],
  ['format', 'prettier', ['--check', '--log-level', 'warn', '.']],
  ['unused code', 'knip', []],
  ['import layers', 'node', ['test/support/run.ts', 'test/meta/layers.test.ts']],
  ['generated configuration types and docs', 'node', ['config/generate.ts', '--check']],
  ['generated description of the API', 'node', ['proxy/api/openapi/generate.ts', '--check']],
  ['assembled string scan', 'node', ['bin/assemble.js', '--check']],
  ['generated chart schema', 'node', ['charts/generate.ts', '--check']],
  ['generated dashboards and alert rules', 'node', ['charts/monitoring/generate.ts', '--check']],
];

const failed = [];
for (const [what, command, args] of CHECKS) {
  const started = performance.now();
  const { status } = spawnSync(command, args, { stdio: 'inherit' });
  console.log(
    `${status === 0 ? 'ok    ' : 'FAILED'} ${what} (${((performance.now() - started) / 1000).toFixed(1)} s)`,
  );
  if (status !== 0) failed.push(what);
}
if (failed.length > 0) {
  console.error(`failed: ${failed.join(', ')}`);
  process.exit(1);
}
