// The sandboxes of a user: what runs, what is paused, and the step from one to the other.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { may } from '../../app/session.ts';
import { messageOf } from '../../base/message.ts';
import { now } from '../../base/now.ts';
import { hrefWith, param } from '../../base/router.ts';
import { ago, dateTime } from '../../format/time.ts';
import { t } from '../../text/index.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Id } from '../../ui/copy.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Empty, Loads } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { toast } from '../../ui/toast.tsx';
import { changePlatform, usePlatform, type Part, type Sandbox, type SandboxStatus } from './platform.ts';

const REFRESH_MS = 3_000;

export function Sandboxes(): JSX.Element {
  const texts = t().platform;
  const page = param('page') === '' ? '' : `&page_id=${encodeURIComponent(param('page'))}`;
  const sandboxes = usePlatform<Part<Sandbox>>(`sandboxes/search?limit=100${page}`, REFRESH_MS);
  return (
    <Loads from={sandboxes} lines={6}>
      {({ items, next_page_id: next }) => (
        <Panel
          title={texts.tabs.sandboxes}
          note={texts.pauseNote}
          actions={
            <>
              {param('page') === '' ? null : <a href={hrefWith({ page: null })}>{texts.newest}</a>}
              {next === null ? null : <a href={hrefWith({ page: next })}>{texts.older}</a>}
            </>
          }
          flush
        >
          <Table
            label={texts.tabs.sandboxes}
            rows={items}
            columns={columns(items.some(({ status_detail: detail }) => (detail ?? '') !== ''))}
            keyOf={({ id }) => id}
            empty={
              <Empty title={texts.noSandboxes} icon="cpu">
                {texts.noSandboxesWhy}
              </Empty>
            }
          />
        </Panel>
      )}
    </Loads>
  );
}

const TONES: Readonly<Record<SandboxStatus, Tone>> = {
  RUNNING: 'good',
  STARTING: 'busy',
  PAUSED: 'idle',
  ERROR: 'bad',
  MISSING: 'warn',
};

export function SandboxState({
  status,
  detail,
}: {
  status: SandboxStatus;
  detail?: string | null | undefined;
}): JSX.Element {
  return (
    <Badge tone={TONES[status]} title={detail ?? undefined}>
      {t().platform.sandboxStates[status]}
    </Badge>
  );
}

/** Pause or resume, whichever its state allows: one that has failed or was lost is looked at again by a resume. */
export function SandboxSteps({ id, status }: { id: string; status: SandboxStatus }): JSX.Element | null {
  const texts = t().platform;
  const [isBusy, setBusy] = useState(false);
  if (!may('change')) return null;
  const run = async (step: 'pause' | 'resume', done: string): Promise<void> => {
    setBusy(true);
    try {
      await changePlatform('POST', `sandboxes/${encodeURIComponent(id)}/${step}`);
      toast(done, 'good');
    } catch (error) {
      toast(messageOf(error), 'bad');
    }
    setBusy(false);
  };
  if (status === 'RUNNING')
    return (
      <Button icon="pause" busy={isBusy} onClick={() => void run('pause', texts.paused)}>
        {texts.pause}
      </Button>
    );
  if (status !== 'STARTING')
    return (
      <Button icon="play" busy={isBusy} onClick={() => void run('resume', texts.resumed)}>
        {texts.resume}
      </Button>
    );
  return null;
}

/** @param hasDetails whether the server has something to say of one of them */
function columns(hasDetails: boolean): readonly Column<Sandbox>[] {
  const texts = t().platform;
  const names = texts.sandboxColumns;
  const details: readonly Column<Sandbox>[] = [
    {
      key: 'detail',
      title: names.detail,
      minor: true,
      cell: ({ status_detail: detail }) =>
        typeof detail === 'string' && detail !== '' ? (
          <span class="cut" lang="en" title={detail}>
            {detail}
          </span>
        ) : (
          '–'
        ),
    },
  ];
  return [
    { key: 'id', title: names.id, cell: ({ id }) => <Id id={id} /> },
    {
      key: 'state',
      title: names.state,
      cell: ({ status, status_detail: detail }) => <SandboxState status={status} detail={detail} />,
    },
    {
      key: 'spec',
      title: names.spec,
      minor: true,
      cell: ({ sandbox_spec_id: spec }) => (
        <span class="cut" title={spec}>
          {spec}
        </span>
      ),
    },
    {
      key: 'created',
      title: names.created,
      minor: true,
      cell: ({ created_at: at }) => (
        <span class="nowrap" title={dateTime(at)}>
          {ago(at, now.value)}
        </span>
      ),
    },
    ...(hasDetails ? details : []),
    {
      key: 'conversations',
      title: names.conversations,
      minor: true,
      cell: ({ id }) => (
        <a href={hrefWith({ tab: 'conversations', sandbox: id, page: null })}>{texts.itsConversations}</a>
      ),
    },
    {
      key: 'steps',
      title: names.steps,
      align: 'end',
      cell: ({ id, status }) => <SandboxSteps id={id} status={status} />,
    },
  ];
}
