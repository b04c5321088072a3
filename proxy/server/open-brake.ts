// The stopped conversations of the runaway brake: read at the start, kept for the next one and for other processes.
import type { Snapshot } from '../../config/snapshot.ts';
import { DurableStops } from '../access/brake/durable-stops.ts';
import type { Brake } from '../access/brake/brake.ts';

type Options = Omit<ConstructorParameters<typeof DurableStops>[0], 'told'>;

/** Of a brake that stops nothing yet they are opened by the reload that lets it. */
export async function openStops(
  { brake: settings }: Snapshot,
  brake: Brake,
  options: Options,
): Promise<DurableStops> {
  const stops = new DurableStops({ ...options, told: (change) => brake.told(change) });
  brake.shareWith(stops);
  if (settings?.enforces === true) await stops.open(settings.idleMs);
  return stops;
}
