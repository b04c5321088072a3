// The alerts of the last months: whom each is about, whether it reached its receivers, and what a person should do.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useResource } from '../../api/resource.ts';
import { closeEntry, hrefOf, hrefWith, param, setParams } from '../../base/router.ts';
import { now } from '../../base/now.ts';
import { count } from '../../format/numbers.ts';
import { ago, dateTime } from '../../format/time.ts';
import { t } from '../../text/index.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Drawer } from '../../ui/dialog.tsx';
import { FilterBar, SelectFilter } from '../../ui/filters.tsx';
import { Facts, Panel } from '../../ui/panel.tsx';
import { Empty, Loads } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { Acknowledged } from './acknowledged.tsx';
import { STATES, type Alert, type State } from './alert-rows.ts';

/** `GET /alerts` */
interface AlertsAnswer {
  readonly alerts: readonly Alert[];
  readonly next: string | null;
  readonly channels: readonly { readonly name: string }[];
}

const REFRESH_MS = 15_000;
const LEVELS: Readonly<Record<Alert['level'], Tone>> = { warning: 'warn', error: 'bad' };
const TONES: Readonly<Record<State, Tone>> = {
  pending: 'busy',
  delivered: 'good',
  failed: 'bad',
  unsent: 'idle',
};

export function Alerts(): JSX.Element {
  const texts = t().system.alerting;
  const query = new URLSearchParams();
  for (const name of ['acknowledged', 'state', 'before'])
    if (param(name) !== '') query.set(name, param(name));
  const alerts = useResource<AlertsAnswer>(`alerts${query.size === 0 ? '' : `?${query}`}`, {
    everyMs: REFRESH_MS,
  });
  return (
    <div class="stacked">
      <FilterBar>
        <SelectFilter
          name="acknowledged"
          label={texts.status}
          choices={[
            { value: '', label: texts.all },
            { value: 'false', label: texts.open },
            { value: 'true', label: texts.acknowledged },
          ]}
        />
        <SelectFilter
          name="state"
          label={texts.state}
          choices={[
            { value: '', label: texts.all },
            ...STATES.map((value) => ({ value, label: texts.states[value] })),
          ]}
        />
      </FilterBar>
      <Loads from={alerts} lines={8} dims>
        {(answer) => <List answer={answer} />}
      </Loads>
    </div>
  );
}

function List({ answer: { alerts, next, channels } }: { answer: AlertsAnswer }): JSX.Element {
  const texts = t().system.alerting;
  const id = param('id');
  const isFiltered = ['acknowledged', 'state', 'before'].some((name) => param(name) !== '');
  // What was acknowledged may stand on another page now; who reads it goes on reading.
  const [changed, setChanged] = useState<Alert | null>(null);
  const known = alerts.find((one) => one.id === id) ?? (changed?.id === id ? changed : null);
  return (
    <>
      {channels.length > 0 ? null : (
        <p>
          <Badge tone="warn">{texts.noChannels}</Badge> <span class="quiet">{texts.noChannelsWhy}</span>
        </p>
      )}
      <Panel title={texts.title} note={texts.kept} flush>
        <Table
          label={texts.title}
          rows={alerts}
          columns={columns()}
          keyOf={(alert) => alert.id}
          selected={id === '' ? null : id}
          onOpen={(alert) => setParams({ id: alert.id })}
          empty={
            <Empty title={isFiltered ? texts.noneSuch : texts.none} icon="check">
              {isFiltered ? undefined : texts.noneWhy}
            </Empty>
          }
        />
        {param('before') === '' && next === null ? null : (
          <nav class="pager" aria-label={t().common.pagesOfList}>
            {param('before') === '' ? null : <a href={hrefWith({ before: null })}>{texts.newest}</a>}
            {next === null ? null : <a href={hrefWith({ before: next, id: null })}>{texts.older}</a>}
          </nav>
        )}
      </Panel>
      {id === '' ? null : <OneAlert alert={known} onChanged={setChanged} />}
    </>
  );
}

function columns(): readonly Column<Alert>[] {
  const texts = t().system.alerting;
  return [
    {
      key: 'kind',
      title: texts.kind,
      cell: ({ kind, level, at, acknowledged }) => (
        <>
          <Badge tone={acknowledged === null ? LEVELS[level] : 'idle'}>{kindText(kind)}</Badge>
          <span class="alert-when quiet" title={dateTime(at)}>
            {ago(at, now.value)}
          </span>
          {acknowledged === null ? null : (
            <span class="alert-when quiet" title={dateTime(acknowledged.at)}>
              {texts.acknowledgedBy(acknowledged.by)}
            </span>
          )}
        </>
      ),
    },
    {
      key: 'text',
      title: texts.what,
      width: '60%',
      minor: true,
      cell: ({ text }) => (
        <span class="alert-text" lang="en">
          {text}
        </span>
      ),
    },
    { key: 'state', title: texts.state, cell: ({ state }) => <StateBadge state={state} /> },
  ];
}

function StateBadge({ state }: { state: State }): JSX.Element {
  return <Badge tone={TONES[state]}>{t().system.alerting.states[state]}</Badge>;
}

/** A kind that a newer server knows is shown by its name. */
const kindText = (kind: string): string => t().system.alerting.kinds[kind] ?? kind;

function OneAlert({
  alert,
  onChanged,
}: {
  alert: Alert | null;
  onChanged: (alert: Alert) => void;
}): JSX.Element {
  const texts = t().system.alerting;
  if (alert === null)
    return (
      <Drawer title={texts.one} onClose={closeEntry}>
        <Empty title={texts.gone}>{texts.goneWhy}</Empty>
      </Drawer>
    );
  const { kind, level, at, subject, text, state, deliveries } = alert;
  const place = placeOf(subject);
  const steps = texts.steps[kind] ?? [];
  return (
    <Drawer title={kindText(kind)} onClose={closeEntry}>
      <p class="alert-said" lang="en">
        {text}
      </p>
      <Acknowledged alert={alert} onChanged={onChanged} />
      <Facts
        rows={[
          [texts.when, `${dateTime(at)} (${ago(at, now.value)})`],
          [
            texts.level,
            <Badge key="level" tone={LEVELS[level]}>
              {texts.levels[level]}
            </Badge>,
          ],
          [
            texts.subject,
            place === null ? (
              subject.name
            ) : (
              <a key="subject" href={place}>
                {subject.name}
              </a>
            ),
          ],
          [texts.state, <StateBadge key="state" state={state} />],
        ]}
      />
      <Panel title={texts.receivers}>
        {deliveries.length === 0 ? (
          <p class="quiet">{texts.unsentWhy}</p>
        ) : (
          <ul class="alert-deliveries">
            {deliveries.map((one) => (
              <li key={one.channel}>
                <strong>{one.channel}</strong>
                <StateBadge state={one.state} />
                <span class="quiet">
                  {texts.attempts(count(one.attempts))}, {dateTime(one.changed_at)}
                </span>
                {one.reason === null ? null : (
                  <p class="quiet" lang="en">
                    {one.reason}
                  </p>
                )}
              </li>
            ))}
          </ul>
        )}
      </Panel>
      <Panel title={texts.toDo}>
        <ol class="alert-steps">
          {(state === 'failed' ? [...texts.undelivered, ...steps] : steps).map((step) => (
            <li key={step}>{step}</li>
          ))}
        </ol>
        <p class="quiet">{texts.runbook(kind)}</p>
      </Panel>
    </Drawer>
  );
}

/** Where this page shows whom it is about; null = nowhere. */
function placeOf({ kind, id }: Alert['subject']): string | null {
  switch (kind) {
    case 'key':
      return hrefOf('keys', { id });
    case 'team':
    case 'member':
      return hrefOf('teams', { id });
    case 'user':
      return hrefOf('users', { id });
    case 'conversation':
      return hrefOf('sessions', { id });
    case 'deployment':
      return hrefOf('models', { id });
    default:
      return hrefOf('budgets');
  }
}
