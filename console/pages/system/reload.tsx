// What became of a reload, as a word.
import type { JSX } from 'preact';
import { t } from '../../text/index.ts';
import { Badge } from '../../ui/badge.tsx';

export function ReloadResult({ result }: { result: string }): JSX.Element {
  const names = t().system.results;
  return <Badge tone={result === 'refused' ? 'bad' : 'good'}>{names[result] ?? result}</Badge>;
}
