// One profile: what it says, and the steps that change it.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { may } from '../../app/session.ts';
import { closeEntry, setParams } from '../../base/router.ts';
import { messageOf } from '../../base/message.ts';
import { t } from '../../text/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm, Drawer } from '../../ui/dialog.tsx';
import { Code, Facts, Panel } from '../../ui/panel.tsx';
import { Loads } from '../../ui/states.tsx';
import { toast } from '../../ui/toast.tsx';
import {
  changePlatform,
  headersIn,
  textIn,
  usePlatform,
  type Profile,
  type ProfileLine,
} from './platform.ts';
import { ProfileEditor } from './profile-editor.tsx';

export function ProfileDrawer({ line, isActive }: { line: ProfileLine; isActive: boolean }): JSX.Element {
  const texts = t().platform;
  const path = `settings/profiles/${encodeURIComponent(line.name)}`;
  const resource = usePlatform<Profile>(path);
  const state = resource.state.value;
  const profile = state.is === 'ready' ? state.data : null;
  const [step, setStep] = useState<'edit' | 'delete' | null>(null);
  return (
    <Drawer
      title={line.name}
      onClose={closeEntry}
      actions={
        may('change') && profile !== null ? (
          <>
            {isActive ? null : (
              <Button icon="check" onClick={() => void activate(line.name)}>
                {texts.activate}
              </Button>
            )}
            <Button icon="edit" onClick={() => setStep('edit')}>
              {texts.edit}
            </Button>
            <Button icon="trash" kind="danger" onClick={() => setStep('delete')}>
              {texts.remove}
            </Button>
          </>
        ) : undefined
      }
    >
      <div class="stacked">
        {isActive ? (
          <p>
            <Badge tone="good">{texts.active}</Badge> {texts.activeWhy}
          </p>
        ) : null}
        <Loads from={resource} lines={6}>
          {(loaded) => <Said profile={loaded} />}
        </Loads>
      </div>
      {step === 'edit' && profile !== null ? (
        <ProfileEditor
          profile={profile}
          onClose={() => setStep(null)}
          onSaved={(name) => {
            setStep(null);
            setParams({ id: name }, { replace: true });
          }}
        />
      ) : null}
      {step === 'delete' ? (
        <Confirm
          title={texts.removeTitle(line.name)}
          action={texts.remove}
          onClose={() => setStep(null)}
          act={async () => {
            await changePlatform('DELETE', path);
            toast(texts.removed(line.name), 'good');
            closeEntry();
          }}
        >
          {texts.removeWhy}
        </Confirm>
      ) : null}
    </Drawer>
  );
}

export async function activate(name: string): Promise<void> {
  try {
    await changePlatform('POST', `settings/profiles/${encodeURIComponent(name)}/activate`);
    toast(t().platform.activated(name), 'good');
  } catch (error) {
    toast(messageOf(error), 'bad');
  }
}

const SHOWN = ['reasoning_effort', 'max_output_tokens', 'temperature'];

function Said({ profile: { name, config, api_key_set: isSet } }: { profile: Profile }): JSX.Element {
  const texts = t().platform;
  const headers = headersIn(config);
  const base = textIn(config, 'base_url');
  const canonical = textIn(config, 'model_canonical_name');
  const mode = textIn(config, 'api_mode');
  const modes: Readonly<Record<string, string>> = texts.modes;
  return (
    <>
      <Panel title={texts.says}>
        <Facts
          rows={[
            [texts.profileColumns.model, <code key="m">{textIn(config, 'model')}</code>],
            base !== '' ? [texts.address, <code key="b">{base}</code>] : null,
            isSet ? [texts.key, t().common.yes] : null,
            canonical === '' ? null : [texts.canonical, <code key="c">{canonical}</code>],
            [texts.mode, modes[mode] ?? mode],
            ...SHOWN.map((member): readonly [string, JSX.Element] | null => {
              const value = textIn(config, member);
              return value === '' ? null : [member, <code key={member}>{value}</code>];
            }),
          ]}
        />
        {isSet || base !== '' ? <p class="quiet">{texts.notUsed}</p> : null}
      </Panel>
      <Panel title={texts.headersTitle} note={texts.headersNote}>
        {Object.keys(headers).length === 0 ? (
          <p class="quiet">{texts.noHeaders}</p>
        ) : (
          <Code label={texts.headersOf(name)}>{JSON.stringify(headers, null, 2)}</Code>
        )}
      </Panel>
    </>
  );
}
