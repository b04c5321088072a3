// The tolerance of a comparison as people write it: dollars, or a part in percent. Pure.
import { picoDollars } from '../record/cost.ts';
import type { Tolerance } from './reconcile.ts';

/** `0.000001` or `0.5%` (up to four digits behind the point); null when it is neither. */
export function toleranceOf(text: string): Tolerance | null {
  const percent = /^(\d{1,3})(?:\.(\d{1,4}))?%$/.exec(text.trim());
  if (percent !== null) {
    return { millionths: BigInt(`${percent[1]}${(percent[2] ?? '').padEnd(4, '0')}`) };
  }
  const pico = picoDollars(text);
  return pico === null ? null : { pico: BigInt(pico) };
}
