// The span exporter of a running proxy.
import type { Snapshot } from '../../config/snapshot.ts';
import { VERSION } from '../active-config/version.ts';
import { CannotStart } from '../errors/cannot-start.ts';
import type { Log } from '../observability/logger.ts';
import { openSpanExport, type SpanExport } from '../observability/span-export.ts';

/** null: tracing is not configured; the SDK is loaded only when it is. @throws CannotStart */
export async function openSpans({ otel }: Pick<Snapshot, 'otel'>, log: Log): Promise<SpanExport | null> {
  if (otel === null) return null;
  return openSpanExport(otel, log, VERSION).catch((error: Error) => {
    throw new CannotStart(error.message);
  });
}
