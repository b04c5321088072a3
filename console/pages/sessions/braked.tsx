// Conversations that the runaway brake has noticed or stopped, in its own words; an administrator lets one go on.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { change } from '../../api/client.ts';
import { refreshAll, useResource } from '../../api/resource.ts';
import { may } from '../../app/session.ts';
import { hrefWith } from '../../base/router.ts';
import { t } from '../../text/index.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { Panel } from '../../ui/panel.tsx';
import { toast } from '../../ui/toast.tsx';

export interface BrakeView {
  readonly conversation: string;
  readonly state: 'running' | 'noticed' | 'stopped';
  readonly explanation: readonly string[];
  readonly how_to_resume: string | null;
}

const TONES: Readonly<Record<BrakeView['state'], Tone>> = {
  running: 'good',
  noticed: 'warn',
  stopped: 'bad',
};
const REFRESH_MS = 10_000;

export function BrakeState({ state }: Pick<BrakeView, 'state'>): JSX.Element {
  return <Badge tone={TONES[state]}>{t().sessions.brakeStates[state]}</Badge>;
}

export function Braked(): JSX.Element | null {
  const texts = t().sessions;
  const found = useResource<{ readonly conversations: readonly BrakeView[] }>('conversations/braked', {
    everyMs: REFRESH_MS,
  }).state.value;
  if (found.is !== 'ready' || found.data.conversations.length === 0) return null;
  return (
    <Panel title={texts.braked}>
      <ul class="braked">
        {found.data.conversations.map((one) => (
          <li key={one.conversation}>
            <BrakeState state={one.state} />
            <div>
              <a class="mono cut" href={hrefWith({ id: one.conversation })} title={one.conversation}>
                {one.conversation}
              </a>
              {one.explanation.map((text) => (
                <p key={text} class="quiet" lang="en">
                  {text}
                </p>
              ))}
            </div>
            <Resume brake={one} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}

export function Resume({ brake }: { brake: BrakeView }): JSX.Element | null {
  const texts = t().sessions;
  const [isAsked, setAsked] = useState(false);
  if (brake.state !== 'stopped' || !may('change')) return null;
  const act = async (): Promise<void> => {
    await change('POST', `conversations/${encodeURIComponent(brake.conversation)}/brake/resume`, {});
    void refreshAll('conversations/');
    toast(texts.resumed, 'good');
  };
  return (
    <>
      <Button icon="play" onClick={() => setAsked(true)}>
        {texts.resume}
      </Button>
      {isAsked ? (
        <Confirm
          title={texts.resumeTitle}
          action={texts.resume}
          act={act}
          onClose={() => setAsked(false)}
          danger={false}
        >
          {texts.resumeWhy}
        </Confirm>
      ) : null}
    </>
  );
}
