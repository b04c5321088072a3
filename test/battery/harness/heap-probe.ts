// Loaded into the program by `--import`, with `--expose-gc`: SIGUSR2 collects and prints what is left on stderr, since
// a slope over uncollected memory says when the collector ran, not whether anything is kept.
const collections = { printed: 0 };

process.on('SIGUSR2', () => {
  globalThis.gc?.();
  collections.printed += 1;
  const { heapUsed, external } = process.memoryUsage();
  process.stderr.write(`heap ${collections.printed} ${heapUsed + external}\n`);
});
