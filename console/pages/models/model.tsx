// One entry: how it does, what it says, a call to try it, its lines for the file, and the steps that change it.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { change } from '../../api/client.ts';
import { refreshAll, useResource } from '../../api/resource.ts';
import { may } from '../../app/session.ts';
import { closeEntry, hrefOf } from '../../base/router.ts';
import { count, duration, percent, short } from '../../format/numbers.ts';
import { t } from '../../text/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { faultShare } from '../../ui/condition.ts';
import { CopyButton, Id } from '../../ui/copy.tsx';
import { Confirm, Drawer } from '../../ui/dialog.tsx';
import { Code, Facts, Panel } from '../../ui/panel.tsx';
import { toast } from '../../ui/toast.tsx';
import { Editor } from './editor.tsx';
import { draftOf, fileYaml, helmYaml, type ModelItem } from './entry.ts';
import { isRuntime, ModelState, type Served } from './served.tsx';
import { TryIt } from './try-it.tsx';

interface ConfigPlaces {
  readonly models: readonly { readonly id: string; readonly place: string }[];
}

export function ModelDrawer({ served }: { served: Served }): JSX.Element {
  const { item } = served;
  const [step, setStep] = useState<'edit' | 'delete' | null>(null);
  const texts = t().models;
  const mayChange = isRuntime(served) && may('change') && may('models');
  return (
    <Drawer
      title={item.model_name}
      onClose={closeEntry}
      actions={
        mayChange ? (
          <>
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
        <p class="model-head">
          <ModelState {...served} />
        </p>
        {item.model_info.disabled === true ? (
          <p class="model-error" lang="en">
            {item.model_info.disabled_reason}
          </p>
        ) : null}
        <Entry item={item} isOwn={isRuntime(served)} />
        <Traffic served={served} />
        {may('call') && item.model_info.disabled !== true ? <TryIt model={item.model_name} /> : null}
        <Export item={item} />
      </div>
      {step === 'edit' ? (
        <Editor draft={draftOf(item)} onClose={() => setStep(null)} onSaved={() => setStep(null)} />
      ) : null}
      {step === 'delete' ? (
        <Confirm
          title={texts.removeTitle(item.model_name)}
          action={texts.remove}
          onClose={() => setStep(null)}
          act={async () => {
            await change('POST', 'model/delete', { id: item.model_info.id });
            void refreshAll('model/', 'chain');
            toast(texts.removed(item.model_name), 'good');
            closeEntry();
          }}
        >
          {texts.removeWhy}
        </Confirm>
      ) : null}
    </Drawer>
  );
}

function Place({ id }: { id: string }): JSX.Element {
  const config = useResource<ConfigPlaces>('config').state.value;
  const place = config.is === 'ready' ? config.data.models.find((one) => one.id === id)?.place : undefined;
  return <>{place === undefined ? '–' : <code>{place}</code>}</>;
}

function Entry({ item, isOwn }: { item: ModelItem; isOwn: boolean }): JSX.Element {
  const texts = t().models;
  const { litellm_params: params, model_info: info } = item;
  const more = Object.entries(params).filter(([name]) => !['model', 'api_base', 'api_key'].includes(name));
  return (
    <Panel title={texts.entry}>
      <Facts
        rows={[
          [texts.id, <Id key="id" id={info.id} />],
          [texts.source, isOwn ? texts.sources.runtime : texts.sources.config],
          isOwn || !may('config') ? null : [texts.place, <Place key="place" id={info.id} />],
          ['model', <code key="model">{params.model}</code>],
          ['api_base', <code key="base">{params.api_base ?? '–'}</code>],
          ...more.map(([name, value]): readonly [string, JSX.Element] => [
            name,
            <code key={name}>{typeof value === 'string' ? value : JSON.stringify(value)}</code>,
          ]),
        ]}
      />
      {isOwn ? null : <p class="quiet">{texts.ownedByFile}</p>}
    </Panel>
  );
}

function Traffic({ served: { item, live } }: { served: Served }): JSX.Element | null {
  const texts = t().models;
  if (live === null) return null;
  return (
    <Panel
      title={texts.traffic}
      actions={
        <>
          <a href={hrefOf('calls', { model: item.model_name })}>{texts.seeCalls}</a>
          {may('doctor') ? (
            <a href={hrefOf('system', { tab: 'doctor', model: item.model_name })}>{texts.askDoctor}</a>
          ) : null}
        </>
      }
    >
      <Facts
        rows={[
          [texts.columns.calls, short(live.calls_per_minute)],
          [texts.inFlight, count(live.in_flight)],
          [
            texts.columns.faults,
            live.calls === 0 ? (
              '–'
            ) : (
              <Badge key="f" tone={faultShare(live) > 0 ? 'warn' : 'good'}>
                {percent(faultShare(live))}
              </Badge>
            ),
          ],
          [texts.first, `${duration(live.first_byte_ms.p50)} · ${duration(live.first_byte_ms.p95)}`],
          [texts.duration, `${duration(live.duration_ms.p50)} · ${duration(live.duration_ms.p95)}`],
          live.reason === null
            ? null
            : [
                texts.reason,
                <span key="r" lang="en">
                  {live.reason}
                </span>,
              ],
        ]}
      />
    </Panel>
  );
}

function Export({ item }: { item: ModelItem }): JSX.Element {
  const texts = t().models;
  const [isHelm, setHelm] = useState(false);
  const text = isHelm ? helmYaml(item) : fileYaml(item);
  return (
    <Panel
      title={isHelm ? texts.asHelm : texts.asYaml}
      actions={
        <>
          <Button kind="quiet" onClick={() => setHelm(!isHelm)}>
            {isHelm ? texts.asYaml : texts.asHelm}
          </Button>
          <CopyButton text={text} />
        </>
      }
    >
      <Code label={item.model_name}>{text}</Code>
      <p class="quiet">{texts.exportNote}</p>
    </Panel>
  );
}
