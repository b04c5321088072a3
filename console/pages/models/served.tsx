// An entry with what the chain says of it: where it comes from, and how it does.
import type { JSX } from 'preact';
import type { ChainDeployment } from '../../api/types.ts';
import { duration, UNKNOWN } from '../../format/numbers.ts';
import { t } from '../../text/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { CONDITION_TONES, conditionOf } from '../../ui/condition.ts';
import type { ModelItem } from './entry.ts';

export interface Served {
  readonly item: ModelItem;
  /** What the chain says of it; null = nothing yet, or not for this role. */
  readonly live: ChainDeployment | null;
}

/** `db_model` says so of stored ones alone. */
export const isRuntime = ({ item, live }: Served): boolean =>
  item.model_info.db_model === true || live?.source === 'runtime';

export function ModelState({ item, live }: Served): JSX.Element {
  const texts = t().models;
  if (item.model_info.disabled === true)
    return (
      <Badge tone="bad" title={item.model_info.disabled_reason}>
        {texts.disabled}
      </Badge>
    );
  if (live === null) return <>{UNKNOWN}</>;
  const { state, reason, ends_in_s: endsInS } = live;
  const condition = conditionOf(state, live);
  return (
    <Badge tone={CONDITION_TONES[condition]} title={reason ?? undefined}>
      {endsInS === null ? t().overview.states[condition] : t().overview.restsFor(duration(endsInS * 1000))}
    </Badge>
  );
}
