// Loaded into the program by `--import`, with `--expose-gc`: SIGUSR2 collects and prints what is left on stderr, since
// a slope over uncollected memory says when the collector ran, not whether anything is kept.
const tally = { printed: 0 };

process.on('SIGUSR2', () => {
  globalThis.gc?.();
  tally.printed += 1;
  const { heapUsed, external } = process.memoryUsage();
  process.stderr.write(`heap ${tally.printed} ${heapUsed + external}\n`);
});
