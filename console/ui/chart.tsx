// A chart over UTC days: uPlot, fetched when the first one is shown. The same figures stand in a table for those who read tables.
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type uPlot from 'uplot';
import type { AlignedData, Axis, Options, Scales } from 'uplot';
import { theme } from '../base/theme.ts';
import { t } from '../text/index.ts';
import { shown } from './shown.ts';

export interface Series {
  readonly name: string;
  readonly values: readonly (number | null)[];
  /** A custom property: `--series-1` ... `--series-8`, `--bad`. */
  readonly colour: string;
  readonly kind?: 'line' | 'bars';
}

interface ChartProps {
  /** When each day begins, in seconds since 1970. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
  /** The values along the axis, told apart. */
  readonly ticks: (values: readonly number[]) => readonly string[];
  readonly height?: number;
  readonly label: string;
}

/** A digit of the axis, and what stands beside its texts. */
const LETTER_PX = 6.5;
const AXIS_PX = 20;
const DAY_S = 86_400;

export function Chart({ times, series, format, ticks, height = 220, label }: ChartProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const look = theme.value;
  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    let isGone = false;
    let end = (): void => undefined;
    const draw = async (): Promise<void> => {
      const { uPlot: Plot } = await import('./uplot.ts');
      if (isGone) return;
      const data: AlignedData = [[...times], ...series.map(({ values }) => [...values])];
      const plot = new Plot(
        optionsOf(Plot, element, { times, series, format, ticks, height }),
        data,
        element,
      );
      const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
      observer.observe(element);
      end = () => {
        observer.disconnect();
        plot.destroy();
      };
    };
    void draw();
    return () => {
      isGone = true;
      end();
    };
  }, [times, series, format, ticks, height, look]);
  return <div ref={box} class="chart" role="img" aria-label={label} style={{ minHeight: `${height}px` }} />;
}

type UPlot = typeof uPlot;

function optionsOf(
  Plot: UPlot,
  element: HTMLElement,
  {
    times,
    series,
    format,
    ticks,
    height,
  }: Pick<ChartProps, 'times' | 'series' | 'format' | 'ticks'> & { readonly height: number },
): Options {
  const style = getComputedStyle(element);
  const colour = (name: string): string => resolved(element, style.getPropertyValue(name));
  const grid = { stroke: colour('--line'), width: 1 };
  const axis = {
    stroke: colour('--text-2'),
    grid,
    ticks: { show: false },
    font: '11px system-ui, sans-serif',
  };
  const only = ofOneDay(times);
  return {
    width: element.clientWidth,
    height,
    // Also where times are those of this machine: there a day of sums would begin on the day before.
    tzDate: (at) => Plot.tzDate(new Date(at * 1000), 'Etc/UTC'),
    cursor: { y: false, points: { size: 6 } },
    legend: { live: true },
    axes: [
      { ...axis, ...only?.axis },
      {
        ...axis,
        size: (_, texts) =>
          Math.max(64, AXIS_PX + LETTER_PX * Math.max(0, ...(texts ?? []).map((one) => one.length))),
        values: (_, all) => [...ticks(all)],
      },
    ],
    scales: { ...only?.scales, y: { range: (_, __, max) => [0, Math.max(max * 1.1, 1e-9)] } },
    series: [
      { label: t().common.day, value: '{YYYY}-{MM}-{DD}' },
      ...series.map(({ name, colour: of, kind = 'line' }) => {
        const bars = Plot.paths.bars?.({ size: [0.7, 60] });
        return {
          label: shown(name),
          stroke: colour(of),
          width: kind === 'bars' ? 0 : 1.5,
          points: { show: false },
          value: (_: unknown, value: number | null) => (value === null ? '–' : format(value)),
          ...(kind === 'bars' && bars !== undefined ? { fill: colour(of), paths: bars } : {}),
        };
      }),
    ],
  };
}

/** A single day stands in the middle, with its date: left to itself, uPlot shows the years after it. */
function ofOneDay(times: readonly number[]): { readonly axis: Axis; readonly scales: Scales } | null {
  const [day] = times;
  if (day === undefined || times.length > 1) return null;
  return {
    axis: { splits: () => [day], values: () => [new Date(day * 1000).toISOString().slice(0, 10)] },
    scales: { x: { range: () => [day - DAY_S / 2, day + DAY_S / 2] } },
  };
}

/** What the canvas understands: `light-dark()` is a matter of style sheets. */
function resolved(element: HTMLElement, value: string): string {
  const probe = document.createElement('span');
  probe.style.color = value.trim();
  element.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}
