// The servers that share a database or Valkey: who they are, and whether they are heard of.
import type { JSX } from 'preact';
import type { Chain, ChainReplica } from '../../api/types.ts';
import { now } from '../../base/now.ts';
import { UNKNOWN } from '../../format/numbers.ts';
import { ago, dateTime } from '../../format/time.ts';
import { t } from '../../text/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Table, type Column } from '../../ui/table.tsx';

export function Servers({ chain: { replicas } }: { chain: Chain }): JSX.Element | null {
  const texts = t().system.servers;
  // Alone with files of its own: the panel of the machine says all.
  if (replicas.every(({ shared_by }) => shared_by.length === 0)) return null;
  return (
    <Panel title={texts.title} note={texts.note} flush>
      <Table
        label={texts.title}
        rows={replicas}
        columns={columns(versionsOf(replicas) > 1)}
        keyOf={(one) => `${one.name} ${one.started_at ?? ''}`}
      />
    </Panel>
  );
}

const versionsOf = (replicas: readonly ChainReplica[]): number =>
  new Set(replicas.filter(({ state }) => state === 'serving').map(({ version }) => version)).size;

function columns(differ: boolean): readonly Column<ChainReplica>[] {
  const texts = t().system.servers;
  const names: Readonly<Record<string, string>> = { postgresql: 'PostgreSQL', valkey: 'Valkey' };
  return [
    {
      key: 'name',
      title: texts.name,
      cell: (one) => (
        <>
          <code>{one.name}</code> {one.this ? <span class="quiet">{texts.this}</span> : null}
        </>
      ),
    },
    {
      key: 'state',
      title: texts.state,
      cell: ({ state }) => <Badge tone={state === 'serving' ? 'good' : 'warn'}>{texts.states[state]}</Badge>,
    },
    {
      key: 'version',
      title: t().system.version,
      cell: ({ version }) =>
        differ ? (
          <Badge tone="warn" title={texts.differ}>
            {version ?? texts.older}
          </Badge>
        ) : (
          (version ?? texts.older)
        ),
    },
    {
      key: 'started',
      title: t().system.startedAt,
      minor: true,
      cell: ({ started_at }) => (started_at === null ? UNKNOWN : dateTime(started_at)),
    },
    {
      key: 'seen',
      title: texts.seen,
      cell: (one) => (
        <span title={dateTime(one.last_seen)}>{one.this ? texts.now : ago(one.last_seen, now.value)}</span>
      ),
    },
    {
      key: 'shares',
      title: texts.shares,
      minor: true,
      cell: ({ shared_by }) => shared_by.map((by) => names[by] ?? by).join(', '),
    },
  ];
}
