// Counts how often functions are called on the main thread of a process, by who owns them; see harness/probe.ts. While it counts,
// V8 neither optimises nor inlines, so the counts are exact, and times mean nothing.
import type { Session } from 'node:inspector';
import { listenAs } from './harness/probe.ts';

/** Calls of functions by the owner of their file. */
export type CallCounts = Record<'own' | 'node' | 'undici', number>;

function ownerOf(url: string): keyof CallCounts {
  if (url.startsWith('node:')) return 'node';
  return url.includes('/node_modules/undici/') ? 'undici' : 'own';
}

/** Calls since the last time. */
function take(session: Session, then: (counts: CallCounts) => void): void {
  session.post('Profiler.takePreciseCoverage', (error, { result }) => {
    if (error !== null) throw error;
    const counts: CallCounts = { own: 0, node: 0, undici: 0 };
    for (const { url, functions } of result) {
      if (url.includes('/bench/harness/') || url.includes('inspector')) continue;
      for (const { ranges } of functions) counts[ownerOf(url)] += ranges[0]?.count ?? 0;
    }
    then(counts);
  });
}

listenAs('call-probe.ts', {
  begin: (session) => {
    session.post('Profiler.enable');
    session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    take(session, () => undefined);
  },
  end: take,
});
