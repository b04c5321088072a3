// Whether calls are recorded: the journal, the store, and what is on its way between them.
import type { ComponentChildren, JSX } from 'preact';
import type { Chain } from '../api/types.ts';
import { bytes, count } from '../format/numbers.ts';
import { t } from '../text/index.ts';
import { Badge } from './badge.tsx';
import { Facts, Panel } from './panel.tsx';

export function Ledger({
  title,
  of: ledger,
  showsNone = false,
}: {
  readonly title: string;
  readonly of: Chain['ledger'];
  /** Says of what is never there while all is well that there is none of it. */
  readonly showsNone?: boolean;
}): JSX.Element {
  const texts = t().overview;
  const rows = texts.ledgerRows;
  const endangered = (name: string, amount: number): readonly [string, ComponentChildren] | null => {
    if (amount > 0)
      return [
        name,
        <Badge key={name} tone="bad">
          {count(amount)}
        </Badge>,
      ];
    return showsNone ? [name, count(0)] : null;
  };
  return (
    <Panel title={title}>
      <Facts
        rows={[
          [
            rows.journal,
            <Badge key="journal" tone={ledger.writable ? 'good' : 'bad'} title={ledger.reason}>
              {ledger.writable ? texts.writable : texts.unwritable}
            </Badge>,
          ],
          [
            rows.store,
            <Badge key="store" tone={ledger.store_reachable ? 'good' : 'warn'}>
              {ledger.store_reachable ? texts.reachable : texts.unreachable}
            </Badge>,
          ],
          [rows.open, count(ledger.open)],
          [rows.backlog, bytes(ledger.backlog_bytes)],
          endangered(rows.atRisk, ledger.rows_at_risk),
          endangered(rows.lost, ledger.rows_lost),
        ]}
      />
    </Panel>
  );
}
