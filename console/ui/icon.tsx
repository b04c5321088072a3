// Icons, drawn on 16 units with one stroke. They are never the only word for something: a text stands beside or in the label.
import type { JSX } from 'preact';

const PATHS = {
  activity: 'M1.5 8.5h3l2-5 3 9 2-4h3',
  alert: 'M8 2 14.5 13.5h-13zM8 6.5v3M8 11.5v.1',
  arrow: 'M3 8h10M9 4l4 4-4 4',
  book: 'M3 2.5h8.5a1.5 1.5 0 0 1 1.5 1.5v9.5H4.5A1.5 1.5 0 0 1 3 12zM3 12a1.5 1.5 0 0 1 1.5-1.5H13',
  box: 'M8 1.8 13.5 5v6L8 14.2 2.5 11V5zM2.5 5 8 8.2 13.5 5M8 8.2v6',
  calls: 'M2 4h12M2 8h12M2 12h8',
  chart: 'M2.5 13.5h11M4 11V7M8 11V3M12 11V5.5',
  check: 'M3 8.5 6.5 12 13 4.5',
  chevron: 'M6 3.5 10.5 8 6 12.5',
  close: 'M4 4l8 8M12 4l-8 8',
  copy: 'M5.5 5.5h8v8h-8zM3 10.5h-.5v-8h8V3',
  cpu: 'M4.5 4.5h7v7h-7zM6 2v2.5M10 2v2.5M6 11.5V14M10 11.5V14M2 6h2.5M2 10h2.5M11.5 6H14M11.5 10H14',
  dash: 'M3.5 8h9',
  down: 'M3.5 6 8 10.5 12.5 6',
  download: 'M8 2v8M4.5 7 8 10.5 11.5 7M2.5 13.5h11',
  edit: 'M2.5 13.5V11L11 2.5 13.5 5 5 13.5z',
  external: 'M6 3H3v10h10v-3M9 2.5h4.5V7M13.5 2.5 7.5 8.5',
  filter: 'M2 3.5h12L9.5 9v4l-3 1V9z',
  gauge: 'M2.5 11.5a6 6 0 1 1 11 0M8 10l3-4',
  globe:
    'M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8zM2 8h12M8 2c2 2 2.5 4 2.5 6S10 12 8 14M8 2C6 4 5.5 6 5.5 8S6 12 8 14',
  info: 'M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8zM8 7.2v4M8 4.8v.1',
  key: 'M10.5 2a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7zM8 8l-5.5 5.5M4.5 11.5 6 13',
  keyboard: 'M1.5 4h13v8h-13zM4 6.5h.1M6.5 6.5h.1M9 6.5h.1M11.5 6.5h.1M5 9.5h6',
  menu: 'M2 4.5h12M2 8h12M2 11.5h12',
  minus: 'M3 8h10',
  money:
    'M8 1.8v12.4M11 4.5C10.5 3.5 9.4 3.2 8 3.2c-1.7 0-3 .8-3 2.2C5 8.6 11 7 11 10.4c0 1.5-1.3 2.4-3 2.4-1.6 0-2.8-.6-3.2-1.8',
  moon: 'M13.5 9.5A6 6 0 1 1 6.5 2.5a5 5 0 0 0 7 7z',
  more: 'M3.5 8h.1M8 8h.1M12.5 8h.1',
  pause: 'M5.5 3v10M10.5 3v10',
  play: 'M4.5 2.5v11l9-5.5z',
  plus: 'M8 3v10M3 8h10',
  refresh: 'M13.5 8A5.5 5.5 0 1 1 11.8 4M13.5 2v3h-3',
  search: 'M7 2.2a4.8 4.8 0 1 0 0 9.6 4.8 4.8 0 0 0 0-9.6zM10.5 10.5 14 14',
  sessions: 'M2 3h9v6H5.5L3 11V9H2zM6 11h5.5l2 2v-2h.5V5.5h-1',
  settings: 'M2 4.5h7M12 4.5h2M10.5 3v3M2 11.5h2M7 11.5h7M5.5 10v3',
  signout: 'M6 2.5H2.5v11H6M10.5 5 13.5 8l-3 3M13.5 8H6',
  sun: 'M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M3 13l1-1M12 4l1-1',
  system: 'M2 2.5h12v4H2zM2 9.5h12v4H2zM4.5 4.5h.1M4.5 11.5h.1',
  trash: 'M2.5 4h11M6 4V2.5h4V4M4 4l.7 9.5h6.6L12 4',
  up: 'M3.5 10 8 5.5 12.5 10',
  user: 'M8 2a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM2.5 14c.5-3 2.5-4.5 5.5-4.5s5 1.5 5.5 4.5',
  users:
    'M6 2.5a2.7 2.7 0 1 0 0 5.4 2.7 2.7 0 0 0 0-5.4zM1 13.5c.4-2.7 2.2-4 5-4s4.6 1.3 5 4M10.5 2.8a2.7 2.7 0 0 1 0 4.9M12.5 9.8c1.5.5 2.3 1.8 2.5 3.7',
  zap: 'M9 1.5 3 9h4.5L7 14.5 13 7H8.5z',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 16 16" width={size} height={size} aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
