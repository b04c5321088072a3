// How much room the disk of the data directory has left, asked at every scrape.
import { statfs } from 'node:fs/promises';
import { Gauge, type Registry } from 'prom-client';

/** Adds the metric to a registry. */
export function addDiskMetrics(registry: Registry, dataDir: string): void {
  new Gauge({
    name: 'throughline_data_free_bytes',
    help: 'Free space on the disk of the data directory.',
    aggregator: 'min',
    registers: [registry],
    async collect() {
      const free = await statfs(dataDir).then(
        ({ bavail, bsize }) => bavail * bsize,
        () => null,
      );
      if (free === null) this.remove();
      else this.set(free);
    },
  });
}
