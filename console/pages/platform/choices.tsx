// The drop-downs for profile, provider and model as a user of the platform sees them, and what a choice makes agents ask for.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { may } from '../../app/session.ts';
import { t } from '../../text/index.ts';
import { Button } from '../../ui/button.tsx';
import { SelectField } from '../../ui/field.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Empty, Loads } from '../../ui/states.tsx';
import { modelText, usePlatform, type ModelChoice, type Part, type ProfileList } from './platform.ts';
import { activate } from './profile.tsx';

export function Choices({ list }: { list: ProfileList }): JSX.Element {
  const texts = t().platform;
  const models = usePlatform<Part<ModelChoice>>('config/models/search?limit=100');
  return (
    <Panel title={texts.choices} note={texts.choicesNote}>
      <div class="platform-choices">
        <ProfileChoice list={list} />
        <Loads from={models} lines={2}>
          {({ items, next_page_id: next }) => (
            <ModelChoices items={items.filter(({ hidden }) => !hidden)} isCut={next !== null} />
          )}
        </Loads>
      </div>
    </Panel>
  );
}

function ProfileChoice({
  list: { profiles, active_profile: active },
}: {
  list: ProfileList;
}): JSX.Element | null {
  const texts = t().platform;
  const [picked, setPicked] = useState<string | null>(null);
  const chosen = profiles.find(({ name }) => name === (picked ?? active)) ?? profiles[0];
  if (chosen === undefined) return null;
  return (
    <div class="form">
      <SelectField
        label={texts.profile}
        value={chosen.name}
        onChange={setPicked}
        choices={profiles.map(({ name }) => ({
          value: name,
          label: name === active ? texts.activeChoice(name) : name,
        }))}
        hint={texts.asksFor(chosen.model)}
      />
      {may('change') && chosen.name !== active ? (
        <p>
          <Button icon="check" onClick={() => void activate(chosen.name)}>
            {texts.activate}
          </Button>
        </p>
      ) : null}
    </div>
  );
}

function ModelChoices({ items, isCut }: { items: readonly ModelChoice[]; isCut: boolean }): JSX.Element {
  const texts = t().platform;
  const providers = [...new Set(items.map(({ provider }) => provider))];
  const [picked, setPicked] = useState({ provider: '', model: '' });
  const provider = providers.includes(picked.provider) ? picked.provider : (providers[0] ?? '');
  const offered = items.filter((one) => one.provider === provider);
  const model = offered.find(({ name }) => name === picked.model) ?? offered[0];
  if (model === undefined) return <Empty title={texts.noModels}>{texts.noModelsWhy}</Empty>;
  return (
    <div class="form">
      <div class="pair">
        <SelectField
          label={texts.provider}
          value={provider}
          onChange={(next) => setPicked({ provider: next, model: '' })}
          choices={providers.map((value) => ({ value, label: value }))}
        />
        <SelectField
          label={texts.model}
          value={model.name}
          onChange={(next) => setPicked({ provider, model: next })}
          choices={offered.map(({ name, verified }) => ({
            value: name,
            label: verified ? name : texts.unverified(name),
          }))}
          hint={texts.asksFor(modelText(model))}
        />
      </div>
      {isCut ? <p class="quiet">{texts.firstModels}</p> : null}
    </div>
  );
}
