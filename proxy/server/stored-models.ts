// Models that were added while a proxy ran, and are in its store: they are served again from the start.
import { overlay, type Environment, type Loaded, type RuntimeModel } from '../../config/load.ts';
import { CannotStart, ConfigRefused } from '../errors/cannot-start.ts';
import type { Ledger } from '../spend/ledger.ts';
type Applied = Extract<Loaded, { ok: true }>;

/** The configuration with them. @throws CannotStart, ConfigRefused */
export async function withStoredModels(
  env: Environment,
  first: Applied,
  ledger: Ledger,
): Promise<{ loaded: Applied; runtime: readonly RuntimeModel[] }> {
  if (!first.snapshot.storeModelInDb) return { loaded: first, runtime: [] };
  const runtime = await ledger.models.listModels().catch((error: Error) => {
    throw new CannotStart(`the stored models cannot be read: ${error.message}`);
  });
  if (runtime.length === 0) return { loaded: first, runtime };
  const loaded = overlay(first.source, env, runtime);
  if (!loaded.ok) throw new ConfigRefused(loaded.issues);
  return { loaded, runtime };
}
