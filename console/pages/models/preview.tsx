// Where a call of an entry that nobody has saved would go, and what it would carry: as the proxy says it, by the rules that
// serve calls. Nothing is sent there, and nothing is kept.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { call } from '../../api/client.ts';
import { messageOf } from '../../base/message.ts';
import { t } from '../../text/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { bodyOf, type Draft } from './entry.ts';

/** Somebody who types pauses longer than this. */
const PAUSE_MS = 400;
/** A header of a caller that shows by itself whether theirs are forwarded. */
const SAMPLE_HEADER = 'x-caller-header';

interface Decision {
  readonly name: string;
  readonly action: string;
  readonly rule: string;
}

interface Told {
  readonly error: { readonly message: string } | null;
  readonly url?: string;
  readonly upstream_model?: string;
  readonly headers?: readonly Decision[];
}

type State =
  | { readonly is: 'asking' }
  | { readonly is: 'told'; readonly told: Told }
  | { readonly is: 'unknown'; readonly why: string };

/** @param draft null = not whole yet, or the page sees itself what is wrong */
export function Preview({
  draft,
  before,
}: {
  readonly draft: Draft | null;
  /** The draft as it was opened. */
  readonly before: Draft;
}): JSX.Element {
  const texts = t().models;
  const state = useExplained(draft, before);
  if (draft === null) return <p class="quiet">{texts.previewLater}</p>;
  return (
    <div class="models-preview" role="status" aria-busy={state.is === 'asking'}>
      <p class="quiet">{texts.preview(draft.name.trim())}</p>
      <Answer state={state} />
    </div>
  );
}

function Answer({ state }: { state: State }): JSX.Element {
  const texts = t().models;
  if (state.is === 'asking') return <p class="quiet">{texts.previewAsking}</p>;
  if (state.is === 'unknown') return <Wrong why={state.why} />;
  const { error, url = '', upstream_model: model = '', headers = [] } = state.told;
  if (error !== null) return <Wrong why={error.message} />;
  return (
    <>
      <p>
        <code>{url}</code>
      </p>
      <p>
        <code>{`{"model": ${JSON.stringify(model)}, …}`}</code>
      </p>
      <ul class="models-preview-headers" aria-label={texts.previewHeaders}>
        {headers.map(({ name, action, rule }) => (
          <li key={name}>
            <code>{name}</code> {t().explain.actions[action] ?? action}{' '}
            <span class="quiet" lang="en">
              {rule}
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}

const Wrong = ({ why }: { why: string }): JSX.Element => (
  <p lang="en">
    <Badge tone="warn">{t().models.previewWrong}</Badge> {why}
  </p>
);

/** What the proxy says of the draft, a moment after the last key; the last answer stays until then. The API key stays here. */
function useExplained(draft: Draft | null, before: Draft): State {
  const [state, setState] = useState<State>({ is: 'asking' });
  const entry =
    draft === null
      ? ''
      : JSON.stringify(bodyOf({ ...draft, apiKey: draft.apiKey === '' ? '' : 'typed' }, before));
  useEffect(() => {
    if (entry === '') return undefined;
    const abort = new AbortController();
    const ask = async (): Promise<void> => {
      const parsed = JSON.parse(entry) as { readonly model_name: string };
      const body = {
        entry: parsed,
        body: { model: parsed.model_name, messages: [{ role: 'user', content: 'Hi' }] },
        headers: { [SAMPLE_HEADER]: 'a value' },
      };
      try {
        const { data } = await call<Told>('POST', 'explain', { body, signal: abort.signal });
        if (data !== null) setState({ is: 'told', told: data });
      } catch (thrown) {
        if (!abort.signal.aborted) setState({ is: 'unknown', why: messageOf(thrown) });
      }
    };
    const timer = setTimeout(() => void ask(), PAUSE_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [entry]);
  return state;
}
