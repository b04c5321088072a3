// How a call ended: a word for people, and whose fault it was.
import type { JSX } from 'preact';
import type { Row } from '../api/rows.ts';
import { t } from '../text/index.ts';
import { Badge, type Tone } from './badge.tsx';

export function CallEnd({ row }: { row: Row }): JSX.Element {
  return (
    <Badge tone={toneOf(row)} title={row.metadata.error_information?.error_message ?? row.end_reason}>
      {t().calls.ends[row.end_reason] ?? row.end_reason}
    </Badge>
  );
}

function toneOf({ status, error_source: source }: Row): Tone {
  if (status === 'success') return 'good';
  return source === 'client' ? 'idle' : 'bad';
}
