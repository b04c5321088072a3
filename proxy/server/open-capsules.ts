// Recordings of calls: where their files are, and the orders that are shared with other processes.
import { join, resolve } from 'node:path';
import type { Snapshot } from '../../config/snapshot.ts';
import { Capsules } from '../capsule/capsules.ts';
import { CapsuleDirectory } from '../capsule/directory.ts';
import { DurableRules } from '../capsule/durable-rules.ts';

type Options = Omit<ConstructorParameters<typeof DurableRules>[0], 'told' | 'removed'>;

/** null: no call can be recorded. @param snapshot the one that serves now */
export async function openCapsules(
  snapshot: () => Pick<Snapshot, 'capsules'>,
  options: Options,
): Promise<Capsules | null> {
  const { capsules: first } = snapshot();
  if (first === null) return null;
  const { clock, log, dataDir } = options;
  const path = first.directory === null ? join(dataDir, 'capsules') : resolve(first.directory);
  const directory = new CapsuleDirectory(path);
  await directory
    .prepare()
    .catch((err: unknown) => log.warn({ err, directory: path }, 'capsules cannot be written'));
  const capsules = new Capsules({ directory, settings: () => snapshot().capsules, clock, log });
  const rules = new DurableRules({
    ...options,
    told: (rule) => capsules.rules.told(rule),
    removed: (id) => capsules.rules.removed(id),
  });
  capsules.shareWith(rules);
  await rules.open();
  capsules.tidyOften();
  return capsules;
}
