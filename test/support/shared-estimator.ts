// Counts tokens for all proxies of a test file: the thread loads a tokenizer, which takes 0.3 s of CPU.
import { Estimator } from '../../proxy/spend/estimate/estimator.ts';

/** For what must come, and comes later on a busy machine; sooner than the runner gives a file up. */
export const PATIENCE_MS = 540_000;

/** Ends with its process: one proxy's end is not that of the others. */
class SharedEstimator extends Estimator {
  override close(): Promise<void> {
    return Promise.resolve();
  }
}

export const SHARED_ESTIMATOR = new SharedEstimator({ waitMs: PATIENCE_MS });
