// The `brake` section: what it comes to, and what is said of counts that do not fit.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import { loadConfig, type Loaded } from '../../../config/load.ts';

function load(t: Test, brake: string): Loaded {
  const path = join(t.testdir({}), 'gateway.yaml');
  const model =
    '{ model_name: a, litellm_params: { model: litellm_proxy/a, api_base: "http://127.0.0.1:1" } }';
  writeFileSync(path, `model_list: [${model}]\n${brake}`);
  return loadConfig(path, {});
}

t.test('off until there is a section; then it watches with the defaults', async (t) => {
  const off = load(t, '');
  t.ok(off.ok && off.snapshot.brake === null);
  const on = load(t, 'brake: {}');
  t.match(on.ok && on.snapshot.brake, {
    enforces: false,
    slowMs: 5_000,
    idleMs: 6 * 3_600_000,
    maxConversations: 100_000,
    pollingMs: 5_000,
    minCallsPerMinute: 60,
    minPicoPerMinute: 2e12,
    rules: {
      repeated_step: { note: 4, header: 4, alert: 6, slow: 6, stop: 8 },
      tool_errors: { stop: Infinity },
    },
  });
});

t.test('counts: given, never, a whole rule off or on; text from the environment is a number', async (t) => {
  const rules =
    '{ repeated_step: { stop: "6", slow: false }, alternation: false, compaction: true, tool_errors: { stop: 9 } }';
  const loaded = load(
    t,
    `brake: { mode: enforce, slow_seconds: "0.5", polling_seconds: 0, rules: ${rules} }`,
  );
  t.match(loaded.ok && loaded.snapshot.brake, {
    enforces: true,
    slowMs: 500,
    pollingMs: Infinity,
    rules: {
      repeated_step: { note: 4, slow: Infinity, stop: 6 },
      alternation: { note: Infinity, stop: Infinity },
      compaction: { stop: 4 },
      tool_errors: { note: 10, stop: 9 },
    },
  });
});

t.test('what cannot be', async (t) => {
  const issues = (brake: string): string[] => {
    const loaded = load(t, brake);
    return (loaded.ok ? loaded.snapshot.warnings : loaded.issues).map(
      ({ severity, path, message }) => `${severity} ${path}: ${message}`,
    );
  };
  t.match(issues('brake: { rules: { repeated_step: { stop: 21 } } }'), [
    /^error brake\.rules\.repeated_step\.stop/,
  ]);
  t.match(issues('brake: { rules: { repeated_step: { stop: 0 } } }'), [
    /^error brake\.rules\.repeated_step\.stop/,
  ]);
  t.match(issues('brake: { rules: { repeated_stop: { stop: 3 } } }'), [
    /^error brake\.rules\.repeated_stop: unknown/,
  ]);
  t.match(issues('brake: { mode: on }'), [/^error brake\.mode/]);
  t.match(issues('brake: { rules: { repeated_step: { slow: 8 } } }'), [
    /^warning brake.*\(8\) is not below stop \(8\)/,
  ]);
});
