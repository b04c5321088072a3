// Counts the bytes that the main thread of a process allocates; see harness/probe.ts.
import type { HeapProfiler } from 'node:inspector';
import { listenAs } from './harness/probe.ts';

/** One sample for so many bytes: of 100 MB the count is right within a percent. */
const SAMPLED_BYTES = 4_096;

function bytesBelow({ selfSize, children }: HeapProfiler.SamplingHeapProfileNode): number {
  return children.reduce((sum, child) => sum + bytesBelow(child), selfSize);
}

listenAs('allocation-probe.ts', {
  begin: (session) =>
    session.post('HeapProfiler.startSampling', {
      samplingInterval: SAMPLED_BYTES,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    }),
  end: (session, done) =>
    session.post('HeapProfiler.stopSampling', (error, { profile }) => {
      if (error !== null) throw error;
      done(bytesBelow(profile.head));
    }),
});
