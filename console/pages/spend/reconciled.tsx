// Whether the ledger holds what a gateway's own one holds: the last comparison in words, the calls that differ, the results before.
import type { JSX } from 'preact';
import { useResource } from '../../api/resource.ts';
import { may } from '../../app/session.ts';
import { hrefOf, hrefWith, param } from '../../base/router.ts';
import { now } from '../../base/now.ts';
import { callMoney, count, exactMoney, money, UNKNOWN } from '../../format/numbers.ts';
import { ago, dateTime } from '../../format/time.ts';
import { t } from '../../text/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { Facts, Panel } from '../../ui/panel.tsx';
import { Empty, Loads } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/table.tsx';

type Kind = 'cost' | 'tokens' | 'only_here' | 'only_there';
const KINDS: readonly Kind[] = ['only_there', 'only_here', 'cost', 'tokens'];

interface Difference {
  readonly kind: Kind;
  readonly start: string;
  readonly here_id: string | null;
  readonly there_id: string | null;
  readonly model: string;
  readonly here_spend: string | null;
  readonly there_spend: string | null;
  readonly difference: string;
}

interface Reconciliation {
  readonly id: string;
  readonly at: string;
  readonly who: string;
  readonly there: string;
  readonly start_date: string;
  readonly end_date: string;
  readonly tolerance: string;
  readonly agrees: boolean;
  readonly total: {
    readonly matched: number;
    readonly only_here: number;
    readonly only_there: number;
    readonly here_spend: string;
    readonly there_spend: string;
    readonly difference: string;
  };
  readonly kinds: Readonly<Record<Kind, { readonly calls: number; readonly difference: string }>>;
  readonly differences: readonly Difference[];
  readonly differences_total: number;
}

/** `GET /spend/reconciliations` */
interface ReconciliationsAnswer {
  readonly reconciliations: readonly Reconciliation[];
  readonly next: string | null;
}

const REFRESH_MS = 60_000;
const SHOWN = 12;
const COMMAND = 'throughline spend reconcile --url https://GATEWAY --key KEY --since 2026-01';

export function Reconciled(): JSX.Element | null {
  return may('see_all') ? <Results /> : null;
}

function Results(): JSX.Element {
  const texts = t().spend.reconcile;
  const results = useResource<ReconciliationsAnswer>(`spend/reconciliations?limit=${SHOWN}`, {
    everyMs: REFRESH_MS,
  });
  return (
    <Panel title={texts.title} note={texts.note}>
      <Loads from={results} lines={3}>
        {({ reconciliations }) => {
          const shown = reconciliations.find(({ id }) => id === param('reconciled')) ?? reconciliations[0];
          return shown === undefined ? (
            <Empty title={texts.none} icon="check">
              {texts.noneWhy}
              <p>
                <code>{COMMAND}</code>
              </p>
            </Empty>
          ) : (
            <div class="reconciled">
              <One result={shown} />
              <Earlier results={reconciliations} shown={shown.id} />
            </div>
          );
        }}
      </Loads>
    </Panel>
  );
}

function One({ result }: { result: Reconciliation }): JSX.Element {
  const texts = t().spend.reconcile;
  const { agrees, total, kinds, differences, differences_total: all } = result;
  const calls = total.matched + total.only_here + total.only_there;
  const apart = Number(total.difference);
  return (
    <>
      <p class="reconciled-verdict">
        <Badge tone={agrees ? 'good' : 'bad'}>
          {agrees ? texts.agrees(count(calls)) : texts.differs(count(all), count(calls))}
        </Badge>
        <span class="quiet">{agrees ? texts.agreesWhy(result.tolerance) : apartText(apart)}</span>
      </p>
      {agrees ? null : (
        <ul class="reconciled-kinds">
          {KINDS.filter((kind) => kinds[kind].calls > 0).map((kind) => (
            <li key={kind}>
              <strong>{texts.kinds[kind](count(kinds[kind].calls))}</strong>{' '}
              <span title={exactMoney(Number(kinds[kind].difference))}>
                {texts.apart(signed(Number(kinds[kind].difference)))}
              </span>
              <p class="quiet">{texts.meanings[kind]}</p>
            </li>
          ))}
        </ul>
      )}
      <Facts
        rows={[
          [texts.period, texts.days(result.start_date, result.end_date)],
          [
            texts.there,
            <span key="there" class="path">
              {result.there}
            </span>,
          ],
          [texts.sums, texts.sumsOf(money(Number(total.here_spend)), money(Number(total.there_spend)))],
          [texts.who, `${result.who}, ${dateTime(result.at)} (${ago(result.at, now.value)})`],
        ]}
      />
      {differences.length === 0 ? null : (
        <Table
          label={texts.calls}
          rows={differences}
          columns={columns()}
          keyOf={(one) => `${one.kind} ${one.here_id ?? ''} ${one.there_id ?? ''}`}
        />
      )}
      {all > differences.length ? (
        <p class="quiet">{texts.more(count(differences.length), count(all))}</p>
      ) : null}
    </>
  );
}

function apartText(apart: number): string {
  const texts = t().spend.reconcile;
  if (apart === 0) return texts.same;
  return apart > 0 ? texts.theyMore(callMoney(apart)) : texts.weMore(callMoney(-apart));
}

const signed = (usd: number): string =>
  `${usd > 0 ? '+' : ''}${usd < 0 ? '−' : ''}${callMoney(Math.abs(usd))}`;

function columns(): readonly Column<Difference>[] {
  const texts = t().spend.reconcile;
  const cost = (usd: string | null): JSX.Element | string =>
    usd === null ? UNKNOWN : <span title={exactMoney(Number(usd))}>{callMoney(Number(usd))}</span>;
  return [
    { key: 'kind', title: texts.what, cell: ({ kind }) => texts.kindNames[kind] },
    { key: 'start', title: texts.began, minor: true, cell: ({ start }) => dateTime(start) },
    {
      key: 'call',
      title: texts.call,
      cell: ({ here_id, there_id }) =>
        here_id === null ? (
          <code class="cut" title={there_id ?? undefined}>
            {there_id}
          </code>
        ) : (
          <a class="mono cut" href={hrefOf('calls', { id: here_id })} title={here_id}>
            {here_id}
          </a>
        ),
    },
    {
      key: 'model',
      title: texts.model,
      minor: true,
      cell: ({ model }) => (
        <span class="cut" title={model}>
          {model}
        </span>
      ),
    },
    { key: 'here', title: texts.here, align: 'end', minor: true, cell: (one) => cost(one.here_spend) },
    {
      key: 'there',
      title: texts.thereShort,
      align: 'end',
      minor: true,
      cell: (one) => cost(one.there_spend),
    },
    {
      key: 'difference',
      title: texts.difference,
      align: 'end',
      cell: (one) => <span title={exactMoney(Number(one.difference))}>{signed(Number(one.difference))}</span>,
    },
  ];
}

function Earlier({
  results,
  shown,
}: {
  results: readonly Reconciliation[];
  shown: string;
}): JSX.Element | null {
  const texts = t().spend.reconcile;
  if (results.length < 2) return null;
  return (
    <div>
      <h3>{texts.earlier}</h3>
      <ul class="reconciled-earlier">
        {results.map(({ id, at, agrees, start_date, end_date, differences_total: all }) => (
          <li key={id}>
            <Badge tone={agrees ? 'good' : 'bad'}>
              {agrees ? texts.noneDiffers : texts.some(count(all))}
            </Badge>{' '}
            <a href={hrefWith({ reconciled: id })} aria-current={id === shown ? 'true' : undefined}>
              {texts.days(start_date, end_date)}
            </a>{' '}
            <span class="quiet">{ago(at, now.value)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
