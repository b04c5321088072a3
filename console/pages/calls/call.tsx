// One call: how it ended, where its time and money went, its attempts, its ids, the calls around it. Never a prompt.
import type { ComponentChildren, JSX } from 'preact';
import { useResource } from '../../api/resource.ts';
import type { Attempt, Row, RowsAnswer } from '../../api/rows.ts';
import { closeEntry, hrefOf } from '../../base/router.ts';
import { API_BASE } from '../../base/urls.ts';
import { bytes, callMoney, count, duration, exactMoney } from '../../format/numbers.ts';
import { dateTime, zoneName } from '../../format/time.ts';
import { t } from '../../text/index.ts';
import { Stack } from '../../ui/bar.tsx';
import { Badge, Tag } from '../../ui/badge.tsx';
import { CallEnd } from '../../ui/call-end.tsx';
import { CopyButton, Id } from '../../ui/copy.tsx';
import { Drawer } from '../../ui/dialog.tsx';
import { Facts, Panel } from '../../ui/panel.tsx';
import { Empty, Loads } from '../../ui/states.tsx';

export function CallDrawer({ id, known }: { id: string; known: Row | null }): JSX.Element {
  return (
    <Drawer title={t().calls.call} onClose={closeEntry}>
      {known === null ? <Asked id={id} /> : <Call row={known} />}
    </Drawer>
  );
}

function Asked({ id }: { id: string }): JSX.Element {
  const found = useResource<RowsAnswer>(`spend/rows?limit=1&request_id=${encodeURIComponent(id)}`);
  return (
    <Loads from={found} lines={8}>
      {({ rows: [row] }) =>
        row === undefined ? (
          <Empty title={t().calls.unknownId} icon="search">
            {t().calls.unknownIdWhy}
          </Empty>
        ) : (
          <Call row={row} />
        )
      }
    </Loads>
  );
}

function Call({ row }: { row: Row }): JSX.Element {
  const texts = t().calls;
  const error = row.metadata.error_information;
  return (
    <div class="stacked">
      <p class="call-head">
        <CallEnd row={row} /> <strong>{row.model_group}</strong>
        {row.http_status === null ? null : <Tag>{`HTTP ${row.http_status}`}</Tag>}
        {row.error_source === null ? null : <Tag>{texts.sides[row.error_source]}</Tag>}
      </p>
      {error === null || error.error_message === '' ? null : (
        <p class="call-error" lang="en">
          {error.error_message}
        </p>
      )}
      <Time row={row} />
      <Money row={row} />
      <Attempts attempts={row.attempt_log} />
      <Who row={row} />
      <Ids row={row} />
      {row.metadata.warnings.length === 0 ? null : (
        <Panel title={texts.warnings}>
          <ul class="call-warnings" lang="en">
            {row.metadata.warnings.map((one) => (
              <li key={one}>{one}</li>
            ))}
          </ul>
        </Panel>
      )}
      <p class="quiet">{texts.noPrompts}</p>
    </div>
  );
}

function Time({ row }: { row: Row }): JSX.Element {
  const texts = t().calls;
  const start = Date.parse(row.startTime);
  const first = row.completionStartTime === null ? null : Date.parse(row.completionStartTime);
  const end = Date.parse(row.endTime);
  const parts =
    first === null
      ? [{ name: texts.untilEnd, value: end - start, tone: 'bad' as const }]
      : [
          { name: texts.untilFirst, value: Math.max(0, first - start), tone: 'busy' as const },
          { name: texts.fromFirst, value: Math.max(0, end - first), tone: 'good' as const },
        ];
  return (
    <Panel title={texts.time} note={duration(row.request_duration_ms)}>
      <Stack label={parts.map(({ name, value }) => `${name} ${duration(value)}`).join(', ')} parts={parts} />
      <ul class="call-parts">
        {parts.map(({ name, value, tone }) => (
          <li key={name}>
            <Badge tone={tone}>{name}</Badge> <span class="figure-text">{duration(value)}</span>
          </li>
        ))}
      </ul>
      <Facts
        rows={[
          [`${texts.started} (${zoneName()})`, dateTime(row.startTime)],
          [texts.sent, bytes(row.request_bytes)],
          [texts.received, `${bytes(row.response_bytes)}${row.stream ? `, ${texts.streamed}` : ''}`],
        ]}
      />
    </Panel>
  );
}

function Money({ row }: { row: Row }): JSX.Element {
  const texts = t().calls;
  const sources = Object.entries(row.cost_by_source);
  return (
    <Panel title={texts.money} note={callMoney(row.spend)}>
      <Facts
        rows={[
          [texts.columns.cost, row.spend === null ? texts.costUnknown : exactMoney(row.spend)],
          row.cost_reason === ''
            ? null
            : [
                texts.costWhy,
                <span key="why" lang="en">
                  {row.cost_reason}
                </span>,
              ],
          [texts.costSource, texts.costSources[row.cost_source] ?? row.cost_source],
          ...sources.map(([name, usd]): readonly [string, ComponentChildren] => [
            texts.costBy(texts.costSources[name] ?? name),
            exactMoney(usd),
          ]),
          [texts.promptTokens, count(row.prompt_tokens)],
          row.cache_read_tokens === null ? null : [texts.cacheRead, count(row.cache_read_tokens)],
          row.cache_creation_tokens === null ? null : [texts.cacheWrite, count(row.cache_creation_tokens)],
          [texts.completionTokens, count(row.completion_tokens)],
          row.reasoning_tokens === null ? null : [texts.reasoning, count(row.reasoning_tokens)],
          [texts.counted, texts.countedBy[row.usage_source]],
        ]}
      />
    </Panel>
  );
}

function Attempts({ attempts }: { attempts: readonly Attempt[] }): JSX.Element | null {
  const texts = t().calls;
  const [first] = attempts;
  if (first === undefined) return null;
  const from = Date.parse(first.start);
  const whole = Math.max(1, ...attempts.map((one) => Date.parse(one.start) - from + one.duration_ms));
  return (
    <Panel title={texts.columns.attempts} note={count(attempts.length)}>
      <ol class="call-attempts">
        {attempts.map((one, i) => (
          <li key={`${one.start} ${i}`}>
            <span class="attempt-name cut" title={one.api_base ?? ''}>
              {one.model}
            </span>
            <span class="attempt-track">
              <span
                class={one.error === null ? 'good' : 'bad'}
                style={{
                  marginLeft: `${((Date.parse(one.start) - from) / whole) * 100}%`,
                  width: `${Math.max(1, (one.duration_ms / whole) * 100)}%`,
                }}
              />
            </span>
            <span class="figure-text">{duration(one.duration_ms)}</span>
            <span class="quiet cut" lang="en" title={one.error ?? ''}>
              {[one.status, one.error].filter((text) => text !== null).join(' ')}
            </span>
          </li>
        ))}
      </ol>
    </Panel>
  );
}

function Who({ row }: { row: Row }): JSX.Element {
  const texts = t().calls;
  const link = (name: string, value: string): JSX.Element => (
    <a href={hrefOf('calls', { [name]: value })}>{value}</a>
  );
  return (
    <Panel title={texts.who}>
      <Facts
        rows={[
          [
            texts.columns.session,
            <a key="s" class="mono" href={hrefOf('sessions', { id: row.session_id })}>
              {row.session_id}
            </a>,
          ],
          row.team_id === null ? null : [texts.columns.team, link('team', row.team_id)],
          row.user === '' ? null : [texts.filters.user, link('user', row.user)],
          row.end_user === null ? null : [texts.filters.endUser, link('endUser', row.end_user)],
          [
            texts.filters.key,
            row.metadata.user_api_key_alias ?? <code key="k">{row.api_key.slice(0, 12)}</code>,
          ],
          row.request_tags.length === 0
            ? null
            : [texts.filters.tag, row.request_tags.map((tag) => <Tag key={tag}>{tag}</Tag>)],
          row.client === null
            ? null
            : [
                texts.client,
                <span key="c" title={row.user_agent ?? ''}>
                  {row.client}
                </span>,
              ],
          row.requester_ip_address === null ? null : [texts.address, row.requester_ip_address],
          [
            texts.entry,
            <a key="m" href={hrefOf('models', { id: row.model_id })}>
              {row.model}
            </a>,
          ],
          [texts.columns.gateway, row.api_base ?? '–'],
        ]}
      />
    </Panel>
  );
}

function Ids({ row }: { row: Row }): JSX.Element {
  const texts = t().calls;
  const command = `curl '${API_BASE.href}spend/rows?request_id=${encodeURIComponent(row.request_id)}' -H "Authorization: Bearer $KEY"`;
  return (
    <Panel title={texts.ids}>
      <Facts
        rows={[
          [texts.callId, <Id key="id" id={row.request_id} />],
          row.upstream_call_id === null
            ? null
            : [texts.upstreamCallId, <Id key="u" id={row.upstream_call_id} />],
          row.upstream_id === null ? null : [texts.answerId, <Id key="a" id={row.upstream_id} />],
          row.client_call_id === null ? null : [texts.clientCallId, <Id key="c" id={row.client_call_id} />],
        ]}
      />
      <p class="command">
        <code>{command}</code>
        <CopyButton text={command} />
      </p>
    </Panel>
  );
}
