// Pico-dollars as texts: exact both ways, and rounded for people.
import fc from 'fast-check';
import t from 'tap';
import { dollarText, picoOfDollarText, roundedDollars } from '../../../../proxy/spend/record/dollars.ts';

const TEXTS: readonly (readonly [pico: bigint, text: string])[] = [
  [0n, '0'],
  [1n, '0.000000000001'],
  [22_000_000n, '0.000022'],
  [1_000_000_000_000n, '1'],
  [10_000_000_000_000n, '10'],
  [-1n, '-0.000000000001'],
  [-1_500_000_000_000n, '-1.5'],
  [-2_000_000_000_000n, '-2'],
  [123_456_789_012_345_678_901_234n, '123456789012.345678901234'],
];

t.test('an amount is a plain decimal, without zeros at its end', async (t) => {
  for (const [pico, text] of TEXTS) t.equal(dollarText(pico), text);
});

t.test('a text is the amount that it was made of', async (t) => {
  for (const [pico, text] of TEXTS) t.equal(picoOfDollarText(text), pico);
  t.equal(picoOfDollarText('0.100000000000'), 100_000_000_000n, 'zeros at the end are no harm');
  fc.assert(
    fc.property(fc.bigInt(-(10n ** 24n), 10n ** 24n), (pico) => picoOfDollarText(dollarText(pico)) === pico),
  );
});

t.test('for people it is rounded, half away from zero', async (t) => {
  const cases: readonly (readonly [pico: bigint, places: number, text: string])[] = [
    [0n, 2, '0.00'],
    [0n, 0, '0'],
    [4_999_999_999n, 2, '0.00'],
    [5_000_000_000n, 2, '0.01'],
    [-5_000_000_000n, 2, '-0.01'],
    [-4_999_999_999n, 2, '0.00'],
    [1_234_567_890_123n, 4, '1.2346'],
    [999_995_000_000n, 5, '1.00000'],
    [1_499_999_999_999n, 0, '1'],
    [1_500_000_000_000n, 0, '2'],
    [-1_500_000_000_000n, 0, '-2'],
    [1_234_567_890_123n, 12, '1.234567890123'],
  ];
  for (const [pico, places, text] of cases)
    t.equal(roundedDollars(pico, places), text, `${pico} to ${places} places`);
});
