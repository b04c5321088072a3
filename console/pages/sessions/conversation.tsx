// One conversation: what it cost in all, its calls in the order in which they were made, and what they add up to.
import type { JSX } from 'preact';
import { useResource } from '../../api/resource.ts';
import type { Row, RowsAnswer, SumsAnswer } from '../../api/rows.ts';
import { features } from '../../app/session.ts';
import { addDays, dayFromNow } from '../../base/days.ts';
import { closeEntry, hrefOf, visit } from '../../base/router.ts';
import { callMoney, count, duration, exactMoney, short } from '../../format/numbers.ts';
import { clock, dateTime } from '../../format/time.ts';
import { t } from '../../text/index.ts';
import { CallEnd } from '../../ui/call-end.tsx';
import { Id } from '../../ui/copy.tsx';
import { Drawer } from '../../ui/dialog.tsx';
import { Figure, Panel } from '../../ui/panel.tsx';
import { Empty, Loads } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { BrakeState, Resume, type BrakeView } from './braked.tsx';

/** Of one page of rows; a longer conversation is read to its end on the page Calls. */
const MOST = 200;
const DAYS_BACK = 90;

interface Step {
  readonly row: Row;
  /** Of this call and those before it, as far as their costs are known. */
  readonly sum: number;
}

export function ConversationDrawer({ id }: { id: string }): JSX.Element {
  const texts = t().sessions;
  const session = encodeURIComponent(id);
  const last = dayFromNow(0);
  const first = addDays(last, -DAYS_BACK);
  const rows = useResource<RowsAnswer>(`spend/rows?limit=${MOST}&session_id=${session}&start=${first}`, {
    everyMs: 5_000,
  });
  const sums = useResource<SumsAnswer>(
    `spend/sums?session_id=${session}&start_date=${first}&end_date=${last}`,
    {
      everyMs: 5_000,
    },
  );
  return (
    <Drawer title={texts.conversation} onClose={closeEntry}>
      <div class="stacked">
        <p>
          <Id id={id} whole />
        </p>
        {features.value?.brake === true ? <Brake id={id} /> : null}
        <Loads from={sums} lines={2}>
          {({ total }) => (
            <div class="figures">
              <Figure
                name={texts.columns.spend}
                value={callMoney(Number(total.spend))}
                title={exactMoney(Number(total.spend))}
                detail={total.unpriced === 0 ? '' : texts.unpriced(count(total.unpriced))}
              />
              <Figure
                name={texts.columns.calls}
                value={count(total.requests)}
                detail={texts.failed(count(total.failures))}
                href={hrefOf('calls', { session: id, range: '30d' })}
              />
              <Figure name={texts.columns.tokens} value={short(total.total_tokens)} detail="" />
            </div>
          )}
        </Loads>
        <Loads from={rows} lines={8}>
          {(answer) => <Steps answer={answer} id={id} />}
        </Loads>
      </div>
    </Drawer>
  );
}

function Steps({ answer, id }: { answer: RowsAnswer; id: string }): JSX.Element {
  const texts = t().sessions;
  if (answer.rows.length === 0) {
    return (
      <Empty title={texts.noCalls} icon="calls">
        {texts.noCallsWhy}
      </Empty>
    );
  }
  const steps = answer.rows.toReversed().reduce<Step[]>((all, row) => {
    all.push({ row, sum: (all.at(-1)?.sum ?? 0) + (row.spend ?? 0) });
    return all;
  }, []);
  return (
    <Panel
      title={texts.steps}
      note={answer.next === null ? count(steps.length) : texts.lastSteps(count(steps.length))}
      flush
    >
      <Table
        label={texts.steps}
        rows={steps}
        columns={columns(answer.next === null)}
        keyOf={({ row }) => row.request_id}
        onOpen={({ row }) => visit(hrefOf('calls', { id: row.request_id, session: id }))}
      />
    </Panel>
  );
}

function columns(isWhole: boolean): readonly Column<Step>[] {
  const texts = t().sessions;
  const names = t().calls.columns;
  return [
    {
      key: 'time',
      title: names.time,
      cell: ({ row }) => (
        <a
          href={hrefOf('calls', { id: row.request_id, session: row.session_id })}
          title={dateTime(row.startTime)}
        >
          {clock(row.startTime)}
        </a>
      ),
    },
    { key: 'end', title: names.end, cell: ({ row }) => <CallEnd row={row} /> },
    {
      key: 'model',
      title: names.model,
      cell: ({ row }) => (
        <span class="cut conversation-model" title={row.model_group}>
          {row.model_group}
        </span>
      ),
    },
    {
      key: 'took',
      title: names.duration,
      align: 'end',
      minor: true,
      cell: ({ row }) => duration(row.request_duration_ms),
    },
    { key: 'cost', title: names.cost, align: 'end', cell: ({ row }) => callMoney(row.spend) },
    {
      key: 'sum',
      title: isWhole ? texts.sum : texts.sumOfShown,
      align: 'end',
      minor: true,
      cell: ({ sum }) => <span title={exactMoney(sum)}>{callMoney(sum)}</span>,
    },
  ];
}

function Brake({ id }: { id: string }): JSX.Element | null {
  const found = useResource<BrakeView>(`conversations/${encodeURIComponent(id)}/brake`).state.value;
  if (found.is !== 'ready') return null; // the brake does not know this conversation
  const { state, explanation } = found.data;
  return (
    <Panel title={t().sessions.brake} actions={<Resume brake={found.data} />}>
      <p>
        <BrakeState state={state} />
      </p>
      {explanation.map((text) => (
        <p key={text} class="quiet" lang="en">
          {text}
        </p>
      ))}
    </Panel>
  );
}
