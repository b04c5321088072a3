// The system: the machine and its ledger, the configuration that serves, the doctor. One part at a time, named in the address.
import type { JSX } from 'preact';
import { param } from '../../base/router.ts';
import { t } from '../../text/index.ts';
import { Tabs } from '../../ui/filters.tsx';
import { Alerts } from './alerts.tsx';
import { Configuration } from './configuration.tsx';
import { Doctor } from './doctor.tsx';
import { Health } from './health.tsx';
import './system.css';

export function Page(): JSX.Element {
  const texts = t().system;
  return (
    <>
      <Tabs
        name="tab"
        label={texts.sections}
        tabs={[
          { value: 'health', label: texts.tabs.health },
          { value: 'alerts', label: texts.tabs.alerts },
          { value: 'configuration', label: texts.tabs.configuration },
          { value: 'doctor', label: texts.tabs.doctor },
        ]}
      />
      <Part />
    </>
  );
}

function Part(): JSX.Element {
  switch (param('tab')) {
    case 'alerts':
      return <Alerts />;
    case 'configuration':
      return <Configuration />;
    case 'doctor':
      return <Doctor />;
    default:
      return <Health />;
  }
}
