// What the proxy adds: the same short streamed call, directly at the gateway and through the proxy by turns, and the median of
// the time to the first byte of each. One call says little, since a model's own time varies by more than a proxy takes.
import type { Reporter } from './finding.ts';
import { askWithLimit, shortBody, type Route } from './trial-call.ts';

/** Of each route. */
export const LATENCY_CALLS = 5;
/** A proxy that adds more is short of CPU, or waits for something. */
const NOTABLE_MS = 50;
/** Less than this part of the direct call is within what medians of five calls differ by. */
const NOTABLE_PART = 0.5;

/** One answered call. */
interface Timed {
  readonly firstMs: number;
  /** Milliseconds that the proxy itself took, as it states them; null = it does not. */
  readonly ownMs: number | null;
}

/** @param id of the entry: what another one answers says nothing of it */
export async function checkLatency(
  direct: Route,
  through: Route,
  { id, place }: { readonly id: string; readonly place: string | null },
  report: Reporter,
): Promise<void> {
  const [directly, proxied]: [Timed[], Timed[]] = [[], []];
  for (let n = 0; n < LATENCY_CALLS; n += 1) {
    const [one, other] = [await timed(direct, null), await timed(through, id)];
    if (typeof one === 'string') return report.skipped('latency', `directly: ${one}`);
    if (typeof other === 'string') return report.skipped('latency', `through the proxy: ${other}`);
    directly.push(one);
    proxied.push(other);
  }
  const [without, with_] = [medianOf(directly.map(firstOf)), medianOf(proxied.map(firstOf))];
  const own = proxied.flatMap(({ ownMs }) => (ownMs === null ? [] : [ownMs]));
  const ownMs = own.length === 0 ? null : medianOf(own);
  const added = Math.round(with_ - without);
  const said = ownMs === null ? '' : `; it states ${ownMs} ms of its own`;
  const seen =
    `first byte directly after ${without} ms, through the proxy after ${with_} ms: ` +
    `${added > 0 ? `${added} ms are added` : 'nothing is added'} (medians of ${LATENCY_CALLS} calls each${said})`;
  if (ownMs !== null && ownMs >= NOTABLE_MS) return report.found('latency', 'TL-1612', { place, seen });
  if (added >= NOTABLE_MS && added >= without * NOTABLE_PART)
    return report.found('latency', 'TL-1613', { place, seen });
  report.passed('latency', seen);
}

const firstOf = ({ firstMs }: Timed): number => firstMs;

function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

/** @returns why it says nothing, as a text */
async function timed(route: Route, id: string | null): Promise<Timed | string> {
  const { asked } = await askWithLimit(route, (limit) => shortBody(route.model, limit));
  if (!asked.ok) return asked.error.message || asked.error.name;
  const { status, headers, pieceMs, headMs, broken } = asked.reply;
  if (status !== 200 || broken !== null) return `a call answered ${status}`;
  const named = (suffix: RegExp): string | undefined => [...headers].find(([name]) => suffix.test(name))?.[1];
  const servedBy = named(/^x-[a-z]+-model-id$/);
  if (id !== null && servedBy !== undefined && servedBy !== id) return 'another entry of the name answered';
  const own = Number(named(/^x-[a-z]+-overhead-duration-ms$/) ?? NaN);
  return { firstMs: pieceMs[0] ?? headMs, ownMs: Number.isFinite(own) ? own : null };
}
