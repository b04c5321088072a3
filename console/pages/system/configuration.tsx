// The configuration that serves: its issues by severity, where each entry comes from, the text with its secrets masked.
import { messageOf } from '../../base/message.ts';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { change } from '../../api/client.ts';
import { refreshAll, useResource } from '../../api/resource.ts';
import type { ConfigIssue } from '../../api/types.ts';
import { may } from '../../app/session.ts';
import { hrefOf, param } from '../../base/router.ts';
import { count } from '../../format/numbers.ts';
import { dateTime } from '../../format/time.ts';
import { t } from '../../text/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Id } from '../../ui/copy.tsx';
import { SearchFilter } from '../../ui/filters.tsx';
import { Facts, Panel } from '../../ui/panel.tsx';
import { Empty, Loads } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { toast } from '../../ui/toast.tsx';
import { ReloadResult } from './reload.tsx';

interface ConfigAnswer {
  readonly version: string;
  readonly files: readonly string[];
  readonly reload: {
    readonly result: string;
    readonly at: string;
    readonly since: string;
    readonly issues: readonly ConfigIssue[];
  };
  readonly warnings: readonly ConfigIssue[];
  readonly settings: readonly Setting[];
  readonly settings_total: number;
  readonly models: readonly ConfigModel[];
  readonly models_total: number;
  readonly disabled: readonly {
    readonly id: string;
    readonly model_name: string;
    readonly issues: readonly ConfigIssue[];
  }[];
}

interface Setting {
  readonly path: string;
  readonly value: unknown;
  readonly place: string;
}

interface ConfigModel {
  readonly id: string;
  readonly model_name: string;
  readonly source: string;
  readonly place: string | null;
}

export function Configuration(): JSX.Element {
  const config = useResource<ConfigAnswer>('config');
  return (
    <Loads from={config} lines={14} dims>
      {(data) => <Shown config={data} />}
    </Loads>
  );
}

function Shown({ config }: { config: ConfigAnswer }): JSX.Element {
  const texts = t().system;
  const issues = issuesOf(config);
  return (
    <div class="stacked">
      <Panel title={texts.reload} actions={<ReloadButtons />}>
        <Facts
          rows={[
            [t().overview.configResult, <ReloadResult key="result" of={config.reload} />],
            [t().overview.configAt, dateTime(config.reload.since)],
            [t().overview.configVersion, <code key="version">{config.version}</code>],
            [texts.files, <code key="files">{config.files.join(', ')}</code>],
          ]}
        />
      </Panel>
      <Panel title={texts.issues} note={issues.length === 0 ? '' : count(issues.length)} flush>
        <Table
          label={texts.issues}
          rows={issues}
          columns={issueColumns()}
          keyOf={({ place, path, message }) => `${place} ${path} ${message}`}
          empty={
            <p class="inset">
              <Badge tone="good">{texts.noIssues}</Badge>
            </p>
          }
        />
      </Panel>
      {config.disabled.length === 0 ? null : (
        <Panel title={texts.disabled} note={texts.disabledWhy}>
          <ul class="disabled">
            {config.disabled.map(({ id, model_name, issues: why }) => (
              <li key={id}>
                <strong>{model_name}</strong> <code>{id}</code>
                {why.map(({ message, fix }) => (
                  <p key={message} class="quiet" lang="en">
                    {message} {fix}
                  </p>
                ))}
              </li>
            ))}
          </ul>
        </Panel>
      )}
      <Settings config={config} />
      <Panel title={texts.entries} note={count(config.models_total)} flush>
        <Table label={texts.entries} rows={config.models} columns={modelColumns()} keyOf={({ id }) => id} />
      </Panel>
    </div>
  );
}

/** Errors first; an issue of the last reload that serves as well is said once. */
function issuesOf({ reload, warnings }: ConfigAnswer): readonly ConfigIssue[] {
  const all = new Map(
    [...reload.issues, ...warnings].map((one) => [`${one.place} ${one.path} ${one.message}`, one]),
  );
  return [...all.values()].toSorted(
    (a, b) => Number(b.severity === 'error') - Number(a.severity === 'error'),
  );
}

function Settings({ config }: { config: ConfigAnswer }): JSX.Element {
  const texts = t().system;
  const query = param('q').toLowerCase();
  const rows = config.settings.filter(({ path }) => path.toLowerCase().includes(query));
  const columns: readonly Column<Setting>[] = [
    { key: 'path', title: texts.setting, width: '45%', cell: ({ path }) => <code class="path">{path}</code> },
    { key: 'value', title: texts.value, cell: ({ value }) => <code class="value">{written(value)}</code> },
    { key: 'place', title: texts.place, cell: ({ place }) => <code class="path">{place}</code>, minor: true },
  ];
  return (
    <Panel
      title={texts.inForce}
      note={`${count(config.settings_total)} · ${texts.inForceNote}`}
      actions={<SearchFilter label={texts.findSetting} />}
      flush
    >
      <Table
        label={texts.inForce}
        rows={rows}
        columns={columns}
        keyOf={({ path }) => path}
        empty={<Empty title={texts.noSetting} icon="search" />}
      />
    </Panel>
  );
}

function written(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function issueColumns(): readonly Column<ConfigIssue>[] {
  const texts = t().system;
  return [
    {
      key: 'severity',
      title: texts.severity,
      width: '7rem',
      cell: ({ severity }) => (
        <Badge tone={severity === 'error' ? 'bad' : 'warn'}>{texts.severities[severity]}</Badge>
      ),
    },
    { key: 'place', title: texts.place, cell: ({ place }) => <code>{place}</code>, minor: true },
    { key: 'path', title: texts.setting, cell: ({ path }) => <code class="path">{path}</code>, minor: true },
    {
      key: 'message',
      title: texts.problem,
      cell: ({ message, fix }) => (
        <div lang="en">
          {message}
          <p class="quiet">{fix}</p>
        </div>
      ),
    },
  ];
}

function modelColumns(): readonly Column<ConfigModel>[] {
  const texts = t().system;
  return [
    {
      key: 'model',
      title: texts.model,
      cell: ({ id, model_name }) => <a href={hrefOf('models', { id })}>{model_name}</a>,
    },
    { key: 'id', title: texts.entry, cell: ({ id }) => <Id id={id} />, minor: true },
    { key: 'source', title: texts.source, cell: ({ source }) => texts.sources[source] ?? source },
    { key: 'place', title: texts.place, cell: ({ place }) => (place === null ? '–' : <code>{place}</code>) },
  ];
}

interface ReloadAnswer {
  readonly result: 'applied' | 'unchanged' | 'refused';
  readonly issues: readonly string[];
  readonly changes: readonly unknown[];
}

function ReloadButtons(): JSX.Element | null {
  const texts = t().system;
  const [busy, setBusy] = useState(false);
  if (!may('change')) return null;
  const run = async (isTrial: boolean): Promise<void> => {
    setBusy(true);
    try {
      const body = isTrial ? { dry_run: true } : {};
      const { result, issues, changes } = await change<ReloadAnswer>('POST', 'config/reload', body);
      if (result === 'refused') toast(`${texts.results['refused'] ?? ''}: ${issues[0] ?? ''}`, 'bad');
      else if (result === 'unchanged') toast(texts.unchanged);
      else toast(isTrial ? texts.wouldChange(count(changes.length)) : texts.reloaded);
    } catch (error) {
      toast(messageOf(error), 'bad');
    } finally {
      setBusy(false);
      void refreshAll('');
    }
  };
  return (
    <>
      <Button busy={busy} onClick={() => void run(true)}>
        {texts.reloadCheck}
      </Button>
      <Button icon="refresh" busy={busy} onClick={() => void run(false)}>
        {texts.reloadNow}
      </Button>
    </>
  );
}
