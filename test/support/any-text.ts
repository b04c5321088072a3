import fc from 'fast-check';

const SURROGATES = { first: 0xd800, count: 0x800 };

/**
 * Texts of any code points but halves of surrogate pairs, which is fast-check's unit `binary`. That one makes a table of
 * 1.1 million entries, for 2 s of CPU in each process, to tell whether a dangerous text such as `__proto__` is among them.
 */
export const anyText = fc.string({
  unit: fc.integer({ min: 0, max: 0x10ffff - SURROGATES.count }).map(
    (rank) => String.fromCodePoint(rank < SURROGATES.first ? rank : rank + SURROGATES.count),
    (text) => {
      const point = typeof text === 'string' ? (text.codePointAt(0) ?? -1) : -1;
      if (point < 0 || text !== String.fromCodePoint(point)) throw new Error('not one code point');
      return point < SURROGATES.first ? point : point - SURROGATES.count;
    },
  ),
});
