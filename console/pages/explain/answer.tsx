// What the proxy says of a call: the place it goes to, and each header and member with the rule that decides about it.
import type { JSX } from 'preact';
import { hrefOf } from '../../base/router.ts';
import { count } from '../../format/numbers.ts';
import { t } from '../../text/index.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Code, Facts, Panel } from '../../ui/panel.tsx';
import { Empty } from '../../ui/states.tsx';
import { Table } from '../../ui/table.tsx';
import type { Explained, Refused } from './call.ts';

export function Answer({ answer }: { answer: Explained | Refused }): JSX.Element {
  const texts = t().explain;
  if (answer.error !== null) {
    const { status, code, message } = answer.error;
    return (
      <Panel title={texts.goes}>
        <div class="state bad">
          <Badge tone="bad">{texts.refused(String(status), code)}</Badge>
          <p class="text" lang="en">
            {message}
          </p>
        </div>
      </Panel>
    );
  }
  return (
    <>
      <Goes answer={answer} />
      <Decisions
        title={texts.headersTitle}
        rows={answer.headers.map(({ name, action, rule }) => ({ name, action, why: rule }))}
        name={texts.columns.header}
        none={texts.noHeaders}
      />
      <Decisions
        title={texts.bodyTitle}
        rows={answer.body.map(({ member, change, why }) => ({ name: member, action: change, why }))}
        name={texts.columns.member}
        none={texts.bodyAsItIs}
      />
      {answer.query.length === 0 ? null : (
        <Decisions
          title={texts.queryTitle}
          rows={answer.query.map(({ name, action, rule }) => ({ name, action, why: rule }))}
          name={texts.columns.parameter}
          none=""
        />
      )}
    </>
  );
}

function Goes({ answer }: { answer: Explained }): JSX.Element {
  const texts = t().explain;
  return (
    <Panel title={texts.goes} note={answer.gateway}>
      <div class="explain-url">
        <Code label={texts.url}>{answer.url}</Code>
      </div>
      {answer.warnings.map((warning) => (
        <p key={warning} lang="en">
          <Badge tone="warn">{warning}</Badge>
        </p>
      ))}
      <Facts
        rows={[
          [texts.upstreamModel, <code key="u">{answer.upstream_model}</code>],
          [texts.entry, <Entry key="e" id={answer.deployment.id} />],
          answer.plan.length < 2
            ? null
            : [
                texts.others,
                answer.plan
                  .filter((id) => id !== answer.deployment.id)
                  .map((id) => (
                    <span key={id}>
                      <Entry id={id} />{' '}
                    </span>
                  )),
              ],
          [
            texts.fallbacks,
            answer.fallbacks.length === 0 ? (
              t().common.none
            ) : (
              <code key="f">{answer.fallbacks.join(', ')}</code>
            ),
          ],
          [texts.forwards, answer.forwards_client_headers ? t().common.yes : t().common.no],
          [
            texts.session,
            <span key="s">
              <code>{answer.session.id}</code> <span class="quiet">({answer.session.source})</span>
            </span>,
          ],
        ]}
      />
    </Panel>
  );
}

/** Ids of entries are long; so much of one tells it from the others. */
const SHOWN = 16;

const Entry = ({ id }: { id: string }): JSX.Element => (
  <a href={hrefOf('models', { id })}>
    <code title={id}>{id.slice(0, SHOWN)}</code>
  </a>
);

const TONES: Readonly<Record<string, Tone>> = {
  forwarded: 'good',
  set: 'busy',
  stamped: 'busy',
  added: 'busy',
  replaced: 'warn',
  dropped: 'idle',
  removed: 'idle',
};

interface Line {
  readonly name: string;
  readonly action: string;
  readonly why: string;
}

function Decisions({
  title,
  rows,
  name,
  none,
}: {
  title: string;
  rows: readonly Line[];
  name: string;
  none: string;
}): JSX.Element {
  const { columns, actions } = t().explain;
  return (
    <Panel title={title} note={count(rows.length)} flush>
      <Table
        label={title}
        rows={rows}
        keyOf={(row) => `${rows.indexOf(row)}`}
        columns={[
          { key: 'name', title: name, cell: (row) => <code>{row.name}</code> },
          {
            key: 'action',
            title: columns.action,
            cell: ({ action }) => <Badge tone={TONES[action] ?? 'idle'}>{actions[action] ?? action}</Badge>,
          },
          {
            key: 'why',
            title: columns.why,
            cell: ({ why }) => (
              <span lang="en" class="explain-why">
                {why}
              </span>
            ),
          },
        ]}
        empty={<Empty title={none} icon="check" />}
      />
    </Panel>
  );
}
