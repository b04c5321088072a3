// The models: every entry with where it comes from, how it does, and what can be done about it.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useResource } from '../../api/resource.ts';
import type { Chain } from '../../api/types.ts';
import { features, may } from '../../app/session.ts';
import { CHAIN_MS } from '../../base/live.ts';
import { closeEntry, param, setParams } from '../../base/router.ts';
import { sortInAddress } from '../../base/sort.ts';
import { count, duration, percent, short } from '../../format/numbers.ts';
import { t } from '../../text/index.ts';
import { Tag } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { faultShare } from '../../ui/condition.ts';
import { Drawer } from '../../ui/dialog.tsx';
import { Chips, FilterBar, SearchFilter, SelectFilter } from '../../ui/filters.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Empty, Loads } from '../../ui/states.tsx';
import { sorted, Table, type Column } from '../../ui/table.tsx';
import { Editor } from './editor.tsx';
import { EMPTY, type ModelItem } from './entry.ts';
import { ModelDrawer } from './model.tsx';
import { isRuntime, ModelState, type Served } from './served.tsx';
import './models.css';

const REFRESH_MS = 15_000;

export function Page(): JSX.Element {
  const texts = t().models;
  const models = useResource<{ readonly data: readonly ModelItem[] }>('model/info', { everyMs: REFRESH_MS });
  const [isAdding, setAdding] = useState(false);
  const mayChange = may('change') && may('models');
  return (
    <div class="stacked">
      <FilterBar>
        <SearchFilter label={texts.search} />
        <SelectFilter
          name="source"
          label={texts.source}
          choices={[
            { value: '', label: t().common.all },
            { value: 'config', label: texts.sources.config },
            { value: 'runtime', label: texts.sources.runtime },
          ]}
        />
        {mayChange ? (
          <Button kind="primary" icon="plus" onClick={() => setAdding(true)}>
            {texts.add}
          </Button>
        ) : null}
      </FilterBar>
      <Chips names={{ gateway: texts.columns.gateway }} />
      <Loads from={models} lines={10}>
        {({ data }) => <List items={data} />}
      </Loads>
      {isAdding ? (
        <Editor
          draft={EMPTY}
          onClose={() => setAdding(false)}
          onSaved={(id) => {
            setAdding(false);
            setParams({ id });
          }}
        />
      ) : null}
    </div>
  );
}

function matches(
  { model_name: name, litellm_params: params, model_info: info }: ModelItem,
  text: string,
): boolean {
  const wanted = text.toLowerCase();
  return [name, params.model, params.api_base, info.id].some((one) =>
    (one ?? '').toLowerCase().includes(wanted),
  );
}

/** The overview names gateways; of entries that the chain leaves out, their address tells. */
function isBehind({ item, live }: Served, gateway: string): boolean {
  if (gateway === '') return true;
  return live === null ? (item.litellm_params.api_base ?? '').includes(gateway) : live.gateway === gateway;
}

function List({ items }: { items: readonly ModelItem[] }): JSX.Element {
  const texts = t().models;
  const chain = may('chain') ? (
    <WithChain items={items} />
  ) : (
    <Models served={items.map((item) => ({ item, live: null }))} />
  );
  if (items.length > 0) return chain;
  return (
    <Empty title={texts.none} icon="box">
      {features.value?.runtime_models === false ? texts.noneWhyFile : texts.noneWhy}
    </Empty>
  );
}

function WithChain({ items }: { items: readonly ModelItem[] }): JSX.Element {
  const chain = useResource<Chain>('chain', { everyMs: CHAIN_MS }).state.value;
  const live = new Map(
    chain.is === 'ready' ? chain.data.deployments.map((one) => [one.id, one] as const) : [],
  );
  return <Models served={items.map((item) => ({ item, live: live.get(item.model_info.id) ?? null }))} />;
}

function Models({ served }: { served: readonly Served[] }): JSX.Element {
  const texts = t().models;
  const [text, source, gateway, id] = [param('q'), param('source'), param('gateway'), param('id')];
  const shown = served.filter(
    (one) =>
      matches(one.item, text) &&
      isBehind(one, gateway) &&
      (source === '' || (source === 'runtime') === isRuntime(one)),
  );
  const { sort, onSort } = sortInAddress({ by: 'name', descending: false });
  const opened = served.find(({ item }) => item.model_info.id === id);
  return (
    <>
      <Panel
        title={t().pages.models.name}
        note={texts.shown(count(shown.length), count(served.length))}
        flush
      >
        <Table
          label={t().pages.models.name}
          rows={sorted(shown, sort, (one) => valueOf(one, sort.by))}
          columns={columns()}
          keyOf={({ item }) => item.model_info.id}
          selected={id}
          onOpen={({ item }) => setParams({ id: item.model_info.id })}
          sort={sort}
          onSort={onSort}
          empty={
            <Empty title={texts.nothingMatches} icon="filter">
              {texts.nothingMatchesWhy}
            </Empty>
          }
        />
      </Panel>
      {opened === undefined ? null : <ModelDrawer served={opened} />}
      {opened === undefined && id !== '' ? (
        <Drawer title={texts.entry} onClose={closeEntry}>
          <Empty title={texts.gone}>{texts.goneWhy}</Empty>
        </Drawer>
      ) : null}
    </>
  );
}

function valueOf({ item, live }: Served, column: string): string | number | null {
  switch (column) {
    case 'upstream':
      return item.litellm_params.model ?? '';
    case 'gateway':
      return item.litellm_params.api_base ?? '';
    case 'calls':
      return live?.calls_per_minute ?? null;
    case 'faults':
      return live === null ? null : faultShare(live);
    case 'first':
      return live?.first_byte_ms.p95 ?? null;
    default:
      return item.model_name;
  }
}

function columns(): readonly Column<Served>[] {
  const names = t().models.columns;
  return [
    {
      key: 'name',
      title: names.name,
      sorts: true,
      cell: ({ item }) => (
        <strong class="cut" title={item.model_name}>
          {item.model_name}
        </strong>
      ),
    },
    { key: 'state', title: names.state, cell: (one) => <ModelState {...one} /> },
    {
      key: 'upstream',
      title: names.upstream,
      sorts: true,
      minor: true,
      cell: ({ item }) => (
        <code class="cut" title={item.litellm_params.model}>
          {item.litellm_params.model}
        </code>
      ),
    },
    {
      key: 'gateway',
      title: names.gateway,
      sorts: true,
      minor: true,
      cell: ({
        item: {
          litellm_params: { api_base: base },
        },
      }) => (
        <span class="cut" title={base ?? ''}>
          {base ?? '–'}
        </span>
      ),
    },
    {
      key: 'source',
      title: names.source,
      minor: true,
      cell: (one) => <Tag>{isRuntime(one) ? t().models.sources.runtime : t().models.sources.config}</Tag>,
    },
    {
      key: 'calls',
      title: names.calls,
      align: 'end',
      sorts: true,
      minor: true,
      cell: ({ live }) => (live === null ? '–' : short(live.calls_per_minute)),
    },
    {
      key: 'faults',
      title: names.faults,
      align: 'end',
      sorts: true,
      cell: ({ live }) => (live === null || live.calls === 0 ? '–' : percent(faultShare(live))),
    },
    {
      key: 'first',
      title: names.first,
      align: 'end',
      sorts: true,
      minor: true,
      cell: ({ live }) => duration(live?.first_byte_ms.p95),
    },
  ];
}
