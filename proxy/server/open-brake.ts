// The stopped conversations of the runaway brake: read at the start, kept for the next one and for other processes.
import type { Snapshot } from '../../config/snapshot.ts';
import { DurableStops } from '../access/brake/durable-stops.ts';
import type { Brake } from '../access/brake/brake.ts';

type Options = Omit<ConstructorParameters<typeof DurableStops>[0], 'told' | 'idleMs'>;

/** null: the brake stops nothing. */
export async function openStops(
  { brake: settings }: Snapshot,
  brake: Brake,
  options: Options,
): Promise<DurableStops | null> {
  if (settings?.enforces !== true) return null;
  const stops = new DurableStops({
    ...options,
    idleMs: settings.idleMs,
    told: (change) => brake.told(change),
  });
  brake.shareWith(stops);
  await stops.open();
  return stops;
}
