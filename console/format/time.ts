// Times: UTC unless the viewer asked for the clock of this machine (`u`); days are always UTC, because sums are kept by UTC day.
import { stored } from '../base/stored.ts';
import { language } from '../text/index.ts';
import { UNKNOWN } from './numbers.ts';

export const ZONES = ['utc', 'local'] as const;
export const zone = stored<(typeof ZONES)[number]>('zone', ZONES, 'utc');

type Moment = string | number | null | undefined;

function dateOf(at: Moment): Date | null {
  if (at === null || at === undefined) return null;
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? null : date;
}

const formats = new Map<string, Intl.DateTimeFormat>();

function format(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  // Years first and 24 hours in every language: these are logs.
  const key = `${zone.value} ${JSON.stringify(options)}`;
  const zoned = zone.value === 'utc' ? { ...options, timeZone: 'UTC' } : options;
  const found = formats.get(key) ?? new Intl.DateTimeFormat('sv-SE', zoned);
  formats.set(key, found);
  return found;
}

/** 14:03:07 */
export function clock(at: Moment): string {
  const date = dateOf(at);
  return date === null ? UNKNOWN : format({ timeStyle: 'medium' }).format(date);
}

/** 2026-11-22 14:03:07 */
export function dateTime(at: Moment): string {
  const date = dateOf(at);
  return date === null ? UNKNOWN : format({ dateStyle: 'short', timeStyle: 'medium' }).format(date);
}

/** The UTC day, 2026-11-22. */
export function day(at: Moment): string {
  return dateOf(at)?.toISOString().slice(0, 10) ?? UNKNOWN;
}

/** UTC, or the offset of this machine. */
export function zoneName(): string {
  if (zone.value === 'utc') return 'UTC';
  const minutes = -new Date().getTimezoneOffset();
  const hours = Math.trunc(Math.abs(minutes) / 60);
  const rest = Math.abs(minutes) % 60;
  return `UTC${minutes < 0 ? '-' : '+'}${hours}${rest === 0 ? '' : `:${String(rest).padStart(2, '0')}`}`;
}

/** 5 minutes ago, in 3 hours. */
export function ago(at: Moment, nowMs: number): string {
  const date = dateOf(at);
  if (date === null) return UNKNOWN;
  const seconds = (date.getTime() - nowMs) / 1000;
  const relative = new Intl.RelativeTimeFormat(language.value, { numeric: 'auto', style: 'short' });
  const steps: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
    ['day', 86_400],
    ['hour', 3600],
    ['minute', 60],
  ];
  for (const [unit, size] of steps) {
    if (Math.abs(seconds) >= size) return relative.format(Math.round(seconds / size), unit);
  }
  return relative.format(Math.round(seconds), 'second');
}
