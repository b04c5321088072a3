// What became of the last reload, as a word, and when.
import type { JSX } from 'preact';
import { dateTime } from '../../format/time.ts';
import { t } from '../../text/index.ts';
import { Badge } from '../../ui/badge.tsx';

interface Reload {
  readonly result: string;
  readonly at: string;
}

export function ReloadResult({ of: { result, at } }: { of: Reload }): JSX.Element {
  const names = t().system.results;
  return (
    <>
      <Badge tone={result === 'refused' ? 'bad' : 'good'}>{names[result] ?? result}</Badge>{' '}
      <span class="quiet">{dateTime(at)}</span>
    </>
  );
}
