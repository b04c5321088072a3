// Counts what the main thread of a process allocates. To be loaded with `--import`; SIGUSR2 begins a count, the next one
// ends it and writes the bytes into the file that `countFile` names.
import { renameSync, writeFileSync } from 'node:fs';
import { Session, type HeapProfiler } from 'node:inspector';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isMainThread } from 'node:worker_threads';

/** One sample for so many bytes: of 100 MB the count is right within a percent. */
const SAMPLED_BYTES = 4_096;

/** Where the count of a process is put. */
export const countFile = (pid: number): string => join(tmpdir(), `throughline-allocated-${pid}`);

function bytesBelow({ selfSize, children }: HeapProfiler.SamplingHeapProfileNode): number {
  return children.reduce((sum, child) => sum + bytesBelow(child), selfSize);
}

function listen(): void {
  const session = new Session();
  let isCounting = false;
  session.connect();
  process.on('SIGUSR2', () => {
    if (isCounting) {
      session.post('HeapProfiler.stopSampling', (error, { profile }) => {
        if (error !== null) throw error;
        const file = countFile(process.pid);
        writeFileSync(`${file}.part`, String(bytesBelow(profile.head)));
        renameSync(`${file}.part`, file);
      });
    } else {
      session.post('HeapProfiler.startSampling', {
        samplingInterval: SAMPLED_BYTES,
        includeObjectsCollectedByMajorGC: true,
        includeObjectsCollectedByMinorGC: true,
      });
    }
    isCounting = !isCounting;
  });
}

if (isMainThread && process.execArgv.some((flag) => flag.endsWith('allocation-probe.ts'))) listen();
