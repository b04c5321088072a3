// The last hour as a line without axes, beside a figure. Columns in another colour are faults.
import type { JSX } from 'preact';

const WIDTH = 120;
const HEIGHT = 28;

export function Sparkline({
  values,
  faults = [],
  label,
}: {
  readonly values: readonly (number | null)[];
  readonly faults?: readonly number[];
  readonly label: string;
}): JSX.Element {
  const top = Math.max(1e-9, ...values.map((value) => value ?? 0), ...faults);
  const x = (i: number): number => (i / Math.max(1, values.length - 1)) * WIDTH;
  const y = (value: number): number => HEIGHT - 2 - (value / top) * (HEIGHT - 4);
  const points = values.map((value, i) =>
    value === null ? null : `${x(i).toFixed(1)},${y(value).toFixed(1)}`,
  );
  // Where nothing was measured the line is broken.
  const lines = points.reduce<string[][]>(
    (all, point) => {
      if (point === null) return [...all, []];
      all.at(-1)?.push(point);
      return all;
    },
    [[]],
  );
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      {faults.map((value, i) =>
        value === 0 ? null : (
          <line
            key={i}
            class="fault"
            x1={x(i)}
            x2={x(i)}
            y1={HEIGHT - 2}
            y2={Math.min(HEIGHT - 5, y(value))}
          />
        ),
      )}
      {lines.map((line, i) =>
        line.length < 2 ? null : (
          <g key={i}>
            <path class="area" d={`M${line.join('L')}L${last(line)},${HEIGHT}L${first(line)},${HEIGHT}Z`} />
            <path class="line" d={`M${line.join('L')}`} />
          </g>
        ),
      )}
    </svg>
  );
}

const first = (line: readonly string[]): string => (line[0] ?? '0,0').split(',')[0] ?? '0';
const last = (line: readonly string[]): string => (line.at(-1) ?? '0,0').split(',')[0] ?? '0';
