// Counts attempts whose upstream speaks another protocol than the caller. Labels are names of protocols, which are few.
import { Counter, type Registry } from 'prom-client';

/** Adds the metric to a registry. @returns a function that counts one attempt */
export function countTranslations(registry: Registry): (from: string, to: string) => void {
  const counter = new Counter({
    name: 'throughline_translated_calls_total',
    help: 'Attempts in another protocol than that of the caller, by both.',
    labelNames: ['from', 'to'],
    registers: [registry],
  });
  return (from, to) => counter.inc({ from, to });
}
