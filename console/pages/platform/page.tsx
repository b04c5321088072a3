// What agents run with: the profiles and models that users choose from, their conversations, and the sandboxes of those. One part
// at a time, named in the address; so is the user in whose name the page looks.
import type { JSX } from 'preact';
import { param } from '../../base/router.ts';
import { t } from '../../text/index.ts';
import { FilterBar, SelectFilter, Tabs } from '../../ui/filters.tsx';
import { Conversations } from './conversations.tsx';
import { platformUser, platformUsers } from './platform.ts';
import { Profiles } from './profiles.tsx';
import { Sandboxes } from './sandboxes.tsx';
import './platform.css';

export function Page(): JSX.Element {
  const texts = t().platform;
  const [first = '', ...others] = platformUsers();
  return (
    <div class="stacked">
      <Tabs
        name="tab"
        label={texts.sections}
        tabs={[
          { value: 'profiles', label: texts.tabs.profiles },
          { value: 'conversations', label: texts.tabs.conversations },
          { value: 'sandboxes', label: texts.tabs.sandboxes },
        ]}
      />
      {others.length === 0 ? null : (
        <FilterBar>
          <SelectFilter
            name="user"
            label={texts.user}
            choices={[{ value: '', label: first }, ...others.map((value) => ({ value, label: value }))]}
          />
        </FilterBar>
      )}
      <Shown key={platformUser()} />
    </div>
  );
}

function Shown(): JSX.Element {
  switch (param('tab')) {
    case 'conversations':
      return <Conversations />;
    case 'sandboxes':
      return <Sandboxes />;
    default:
      return <Profiles />;
  }
}
