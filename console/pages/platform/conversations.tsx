// The conversations of a user: what each is called and tagged, what it costs, and how it and its sandbox do.
import type { JSX } from 'preact';
import { closeEntry, hrefOf, hrefWith, param, setParams } from '../../base/router.ts';
import { exactMoney, money, short } from '../../format/numbers.ts';
import { ago, dateTime } from '../../format/time.ts';
import { now } from '../../base/now.ts';
import { t } from '../../text/index.ts';
import { Badge, Tag, type Tone } from '../../ui/badge.tsx';
import { Bar } from '../../ui/bar.tsx';
import { Id } from '../../ui/copy.tsx';
import { Drawer } from '../../ui/dialog.tsx';
import { Chips, FilterBar, SearchFilter } from '../../ui/filters.tsx';
import { Facts, Panel } from '../../ui/panel.tsx';
import { Empty, Loads } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { sessionOf, usePlatform, type Conversation, type Part } from './platform.ts';
import { SandboxState, SandboxSteps } from './sandboxes.tsx';

const REFRESH_MS = 5_000;
const PAGE = 50;

export function Conversations(): JSX.Element {
  const texts = t().platform;
  const id = param('id');
  const query = new URLSearchParams({ limit: String(PAGE), include_sub_conversations: 'true' });
  if (param('q') !== '') query.set('title__contains', param('q'));
  if (param('sandbox') !== '') query.set('sandbox_id__eq', param('sandbox'));
  if (param('page') !== '') query.set('page_id', param('page'));
  const found = usePlatform<Part<Conversation>>(`app-conversations/search?${query}`, REFRESH_MS);
  return (
    <div class="stacked">
      <FilterBar>
        <SearchFilter label={texts.title} />
      </FilterBar>
      <Chips names={{ sandbox: texts.conversationColumns.sandbox }} />
      <Loads from={found} lines={10}>
        {({ items, next_page_id: next }) => (
          <Panel
            title={texts.tabs.conversations}
            actions={
              <>
                {param('page') === '' ? null : <a href={hrefWith({ page: null })}>{texts.newest}</a>}
                {next === null ? null : <a href={hrefWith({ page: next })}>{texts.older}</a>}
              </>
            }
            flush
          >
            <Table
              label={texts.tabs.conversations}
              rows={items}
              columns={columns()}
              keyOf={(one) => one.id}
              selected={id}
              onOpen={(one) => setParams({ id: one.id })}
              empty={
                <Empty title={texts.noConversations} icon="sessions">
                  {texts.noConversationsWhy}
                </Empty>
              }
            />
          </Panel>
        )}
      </Loads>
      {id === '' ? null : <ConversationDrawer id={id} />}
    </div>
  );
}

const TONES: Readonly<Record<string, Tone>> = {
  running: 'busy',
  finished: 'good',
  idle: 'idle',
  paused: 'idle',
  waiting_for_confirmation: 'warn',
  error: 'bad',
  stuck: 'bad',
  deleting: 'idle',
};

function State({ execution_status: status }: Conversation): JSX.Element {
  const { executions } = t().platform;
  if (status === null) return <>–</>;
  return <Badge tone={TONES[status] ?? 'idle'}>{executions[status] ?? status}</Badge>;
}

function Tags({ tags }: Conversation): JSX.Element {
  const all = Object.entries(tags);
  if (all.length === 0) return <>–</>;
  return (
    <span class="platform-tags">
      {all.map(([name, value]) => (
        <Tag key={name} title={`${name}: ${value}`}>
          {name}: {value}
        </Tag>
      ))}
    </span>
  );
}

function Cost({ metrics }: Conversation): JSX.Element {
  const usd = metrics?.accumulated_cost ?? 0;
  return <span title={exactMoney(usd)}>{money(usd)}</span>;
}

function columns(): readonly Column<Conversation>[] {
  const texts = t().platform;
  const names = texts.conversationColumns;
  return [
    {
      key: 'title',
      title: names.title,
      cell: ({ title, id }) => (
        <strong class="cut" title={title ?? id}>
          {title ?? <span class="quiet">{texts.untitled}</span>}
        </strong>
      ),
    },
    { key: 'state', title: names.state, cell: (one) => <State {...one} /> },
    {
      key: 'sandbox',
      title: names.sandbox,
      minor: true,
      cell: ({ sandbox_id: sandbox, sandbox_status: status }) =>
        sandbox === '' ? '–' : <SandboxState status={status} />,
    },
    { key: 'tags', title: names.tags, minor: true, cell: (one) => <Tags {...one} /> },
    {
      key: 'model',
      title: names.model,
      minor: true,
      cell: ({ llm_model: model }) => <code class="cut">{model ?? '–'}</code>,
    },
    { key: 'cost', title: names.cost, align: 'end', cell: (one) => <Cost {...one} /> },
    {
      key: 'updated',
      title: names.updated,
      align: 'end',
      minor: true,
      cell: ({ updated_at: at }) => <span title={dateTime(at)}>{ago(at, now.value)}</span>,
    },
  ];
}

function ConversationDrawer({ id }: { id: string }): JSX.Element {
  const texts = t().platform;
  const found = usePlatform<readonly (Conversation | null)[]>(
    `app-conversations?ids=${encodeURIComponent(id)}`,
    REFRESH_MS,
  );
  const state = found.state.value;
  const one = state.is === 'ready' ? state.data[0] : null;
  return (
    <Drawer title={one?.title ?? texts.conversation} onClose={closeEntry}>
      <Loads from={found} lines={8}>
        {([conversation]) =>
          conversation === null || conversation === undefined ? (
            <Empty title={texts.noConversation} />
          ) : (
            <Opened conversation={conversation} />
          )
        }
      </Loads>
    </Drawer>
  );
}

function Opened({ conversation: one }: { conversation: Conversation }): JSX.Element {
  const texts = t().platform;
  const names = texts.conversationColumns;
  const budget = one.metrics?.max_budget_per_task ?? null;
  const spent = one.metrics?.accumulated_cost ?? 0;
  const tokens = one.metrics?.accumulated_token_usage;
  return (
    <div class="stacked">
      <Panel
        title={texts.about}
        actions={<a href={hrefOf('sessions', { id: sessionOf(one.id) })}>{texts.itsCalls}</a>}
      >
        <Facts
          rows={[
            [texts.id, <Id key="i" id={one.id} />],
            [names.state, <State key="s" {...one} />],
            [names.tags, <Tags key="t" {...one} />],
            [names.model, <code key="m">{one.llm_model ?? '–'}</code>],
            typeof one.llm_profile === 'string' ? [texts.profile, one.llm_profile] : null,
            one.selected_repository === null ? null : [texts.repository, one.selected_repository],
            one.parent_conversation_id === null
              ? null
              : [
                  texts.parent,
                  <a key="p" href={hrefWith({ id: one.parent_conversation_id })}>
                    <code>{one.parent_conversation_id}</code>
                  </a>,
                ],
            one.sub_conversation_ids.length === 0
              ? null
              : [
                  texts.parts,
                  one.sub_conversation_ids.map((part) => (
                    <a key={part} href={hrefWith({ id: part })}>
                      <code>{part}</code>{' '}
                    </a>
                  )),
                ],
            [texts.created, dateTime(one.created_at)],
            [names.updated, dateTime(one.updated_at)],
          ]}
        />
      </Panel>
      <Panel title={names.cost}>
        <Facts
          rows={[
            [texts.spent, <Cost key="c" {...one} />],
            budget === null ? null : [texts.budget, exactMoney(budget)],
            tokens === undefined
              ? null
              : [texts.tokens, `${short(tokens.prompt_tokens)} · ${short(tokens.completion_tokens)}`],
          ]}
        />
        {budget === null || budget === 0 ? null : <Bar share={spent / budget} label={texts.budget} />}
      </Panel>
      <Panel title={names.sandbox}>
        {one.sandbox_id === '' ? (
          <p class="quiet">{texts.noSandbox}</p>
        ) : (
          <>
            <Facts
              rows={[
                [texts.id, <Id key="i" id={one.sandbox_id} />],
                [names.state, <SandboxState key="s" status={one.sandbox_status} />],
              ]}
            />
            <p class="platform-steps">
              <SandboxSteps id={one.sandbox_id} status={one.sandbox_status} />
            </p>
          </>
        )}
      </Panel>
    </div>
  );
}
