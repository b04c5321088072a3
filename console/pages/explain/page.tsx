// Where a call would go, and why: the proxy decides as it would for the call itself, and sends nothing.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ApiError, change } from '../../api/client.ts';
import { useResource } from '../../api/resource.ts';
import { readHeaders } from '../../base/headers.ts';
import { messageOf } from '../../base/message.ts';
import { param, setParams } from '../../base/router.ts';
import { t } from '../../text/index.ts';
import { Button } from '../../ui/button.tsx';
import { Form, SelectField, TextArea, TextField } from '../../ui/field.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Empty, Failed } from '../../ui/states.tsx';
import { Answer } from './answer.tsx';
import {
  isEndpoint,
  questionOf,
  readBody,
  sampleOf,
  SAMPLES,
  type EndpointName,
  type Explained,
  type Refused,
} from './call.ts';
import './explain.css';

const HEADERS =
  '{\n  "x-team": "search",\n  "x-litellm-session-id": "fix-login-timeout",\n  "cookie": "a=b"\n}';

type State =
  | { readonly is: 'nothing' }
  | { readonly is: 'failed'; readonly error: ApiError }
  | { readonly is: 'told'; readonly answer: Explained | Refused };

export function Page(): JSX.Element {
  const texts = t().explain;
  const given = param('endpoint');
  const endpoint: EndpointName = isEndpoint(given) ? given : 'chat/completions';
  const [model, setModel] = useState(param('model'));
  const [headers, setHeaders] = useState(HEADERS);
  const [body, setBody] = useState(sampleOf(endpoint));
  const [isChecked, setChecked] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [state, setState] = useState<State>({ is: 'nothing' });
  const read = readHeaders(headers);
  const members = readBody(body);

  const ask = async (): Promise<void> => {
    setChecked(true);
    const question = questionOf({ model, endpoint, headers, body });
    if (question === null) return;
    setParams({ model: model.trim() }, { replace: true });
    setBusy(true);
    try {
      setState({ is: 'told', answer: await change<Explained | Refused>('POST', 'explain', question) });
    } catch (thrown) {
      setState({
        is: 'failed',
        error: thrown instanceof ApiError ? thrown : new ApiError(messageOf(thrown), 0),
      });
    }
    setBusy(false);
  };

  // A link that names a model is answered at once.
  useEffect(() => {
    if (model !== '') void ask();
  }, []);

  const choose = (next: string): void => {
    if (!isEndpoint(next)) return;
    if (body.trim() === sampleOf(endpoint)) setBody(sampleOf(next));
    setParams({ endpoint: next === 'chat/completions' ? null : next }, { replace: true });
  };

  return (
    <div class="explain">
      <Panel title={texts.call} note={texts.callNote}>
        <Form
          label={texts.form}
          onSubmit={() => void ask()}
          error={null}
          actions={
            <Button kind="primary" type="submit" icon="arrow" busy={isBusy}>
              {texts.go}
            </Button>
          }
        >
          <Model
            value={model}
            onInput={setModel}
            error={isChecked && model.trim() === '' ? texts.modelMissing : null}
          />
          <SelectField
            label={texts.endpoint}
            value={endpoint}
            onChange={choose}
            choices={Object.keys(SAMPLES).map((value) => ({ value, label: `/v1/${value}` }))}
          />
          <TextArea
            label={texts.headers}
            value={headers}
            onInput={setHeaders}
            rows={6}
            error={'issue' in read ? t().models.headerIssues[read.issue](read.detail) : null}
            mono
          />
          <TextArea
            label={texts.body}
            hint={texts.bodyHint}
            value={body}
            onInput={setBody}
            rows={9}
            error={'issue' in members ? texts.bodyIssues[members.issue](members.detail) : null}
            mono
          />
        </Form>
      </Panel>
      <div class="stacked" aria-live="polite">
        <Told state={state} />
      </div>
    </div>
  );
}

function Told({ state }: { state: State }): JSX.Element {
  const texts = t().explain;
  if (state.is === 'failed') return <Failed error={state.error} />;
  if (state.is === 'told') return <Answer answer={state.answer} />;
  return (
    <Panel title={texts.goes}>
      <Empty title={texts.nothing} icon="arrow">
        {texts.nothingWhy}
      </Empty>
    </Panel>
  );
}

function Model(props: {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly error: string | null;
}): JSX.Element {
  const models = useResource<{ readonly data: readonly { readonly model_name: string }[] }>('model/info')
    .state.value;
  const names = models.is === 'ready' ? models.data.data.map(({ model_name: name }) => name) : [];
  return (
    <TextField
      label={t().explain.model}
      suggestions={[...new Set(names)]}
      required
      autoFocus
      mono
      {...props}
    />
  );
}
