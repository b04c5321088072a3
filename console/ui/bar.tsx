// Shares and limits as bars; the figure stands beside them as text.
import type { JSX } from 'preact';
import { percent } from '../format/numbers.ts';
import type { Tone } from './badge.tsx';

/** How much of a limit is used, and where a forecast says it ends. */
export function Bar({
  share,
  forecast = null,
  tone,
  label,
}: {
  /** Of 1; more than 1 is over the limit. null: there is no limit. */
  readonly share: number | null;
  readonly forecast?: number | null;
  readonly tone?: Tone;
  readonly label: string;
}): JSX.Element {
  const used = Math.min(1, Math.max(0, share ?? 0));
  return (
    <span
      class={`bar ${tone ?? toneOf(share)}`}
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(used * 100)}
      aria-valuetext={percent(share)}
    >
      <span class="used" style={{ width: `${used * 100}%` }} />
      {forecast === null ? null : (
        <span class="forecast" style={{ left: `${Math.min(1, forecast) * 100}%` }} />
      )}
    </span>
  );
}

const NEAR = 0.8;

function toneOf(share: number | null): Tone {
  if (share === null) return 'idle';
  if (share >= 1) return 'bad';
  return share >= NEAR ? 'warn' : 'good';
}

/** Parts of a whole side by side, each with a name. */
export function Stack({
  parts,
  label,
}: {
  readonly parts: readonly { readonly name: string; readonly value: number; readonly tone: Tone }[];
  readonly label: string;
}): JSX.Element {
  const sum = parts.reduce((total, { value }) => total + value, 0);
  return (
    <span class="stack" role="img" aria-label={label}>
      {parts.map(({ name, value, tone }) =>
        value === 0 || sum === 0 ? null : (
          <span key={name} class={tone} style={{ width: `${(value / sum) * 100}%` }} title={name} />
        ),
      )}
    </span>
  );
}
