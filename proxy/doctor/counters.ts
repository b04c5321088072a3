// The Valkey or Redis in which several servers count budgets and limits together: does it answer this machine, and may it be
// used. Asks for its facts alone.
import type { ValkeySettings } from '../../config/valkey-settings.ts';
import { bounded } from './bounded.ts';
import type { Reporter } from './finding.ts';

export async function checkCounters(
  settings: ValkeySettings,
  timeoutMs: number,
  report: Reporter,
): Promise<void> {
  const { shown } = settings;
  const asking = factsOf(settings, timeoutMs);
  try {
    const { version, evicts } = await bounded(asking, timeoutMs);
    if (evicts === null) report.passed('counters', `${shown} answers, version ${version}`);
    else
      report.found('counters', 'TL-1208', {
        seen: `${shown}: its maxmemory-policy is ${evicts}, not noeviction, so that it is not used`,
      });
  } catch (error) {
    report.found('counters', 'TL-1208', { seen: `${shown}: ${whyOf(error)}` });
  }
}

async function factsOf(
  settings: ValkeySettings,
  timeoutMs: number,
): Promise<{ readonly version: string; readonly evicts: string | null }> {
  // The client library is loaded only here.
  const { ValkeyConnection } = await import('../access/valkey/connection.ts');
  const connection = await ValkeyConnection.open(settings, timeoutMs);
  connection.close();
  return connection.facts;
}

/** A host with several addresses fails with all of their errors at once, and no message of its own. */
function whyOf(error: unknown): string {
  const [first] = error instanceof AggregateError ? (error.errors as unknown[]) : [];
  const told = first ?? error;
  return told instanceof Error ? told.message : String(told);
}
