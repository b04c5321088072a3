// The LLM profiles of a user, and the drop-downs as that user sees them.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { may } from '../../app/session.ts';
import { param, setParams } from '../../base/router.ts';
import { count } from '../../format/numbers.ts';
import { t } from '../../text/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Empty, Loads } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { Choices } from './choices.tsx';
import { usePlatform, type ProfileLine, type ProfileList } from './platform.ts';
import { ProfileEditor } from './profile-editor.tsx';
import { ProfileDrawer } from './profile.tsx';

export function Profiles(): JSX.Element {
  const profiles = usePlatform<ProfileList>('settings/profiles');
  return (
    <Loads from={profiles} lines={8}>
      {(list) => <List list={list} />}
    </Loads>
  );
}

function List({ list }: { list: ProfileList }): JSX.Element {
  const texts = t().platform;
  const [isAdding, setAdding] = useState(false);
  const id = param('id');
  const opened = list.profiles.find(({ name }) => name === id);
  const add = may('change') ? (
    <Button icon="plus" kind="primary" onClick={() => setAdding(true)}>
      {texts.addProfile}
    </Button>
  ) : undefined;
  return (
    <div class="stacked">
      <Panel title={texts.profiles} note={count(list.profiles.length)} actions={add} flush>
        <Table
          label={texts.profiles}
          rows={list.profiles}
          columns={columns(list.active_profile)}
          keyOf={({ name }) => name}
          selected={id}
          onOpen={({ name }) => setParams({ id: name })}
          empty={
            <Empty title={texts.noProfiles} icon="settings">
              {texts.noProfilesWhy}
            </Empty>
          }
        />
      </Panel>
      <Choices list={list} />
      {opened === undefined ? null : (
        <ProfileDrawer key={opened.name} line={opened} isActive={opened.name === list.active_profile} />
      )}
      {isAdding ? (
        <ProfileEditor
          profile={null}
          onClose={() => setAdding(false)}
          onSaved={(name) => {
            setAdding(false);
            setParams({ id: name });
          }}
        />
      ) : null}
    </div>
  );
}

function columns(active: string | null): readonly Column<ProfileLine>[] {
  const texts = t().platform;
  const names = texts.profileColumns;
  return [
    {
      key: 'name',
      title: names.name,
      cell: ({ name }) => (
        <strong class="cut" title={name}>
          {name}
        </strong>
      ),
    },
    {
      key: 'active',
      title: names.active,
      cell: ({ name }) => (name === active ? <Badge tone="good">{texts.active}</Badge> : '–'),
    },
    {
      key: 'model',
      title: names.model,
      cell: ({ model }) => (
        <code class="cut" title={model}>
          {model}
        </code>
      ),
    },
  ];
}
