// A call of a model from the page, streamed, with how long it took. It costs what any call costs, and is recorded like it.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, open } from '../../api/client.ts';
import { eventsOf } from '../../api/events.ts';
import { duration } from '../../format/numbers.ts';
import { hrefOf } from '../../base/router.ts';
import { t } from '../../text/index.ts';
import { Button } from '../../ui/button.tsx';
import { Form, TextArea } from '../../ui/field.tsx';
import { Panel } from '../../ui/panel.tsx';

interface Answer {
  readonly text: string;
  readonly firstMs: number | null;
  readonly wholeMs: number | null;
  readonly callId: string | null;
  readonly error: string | null;
}

const MOST_TOKENS = 200;

export function TryIt({ model }: { model: string }): JSX.Element {
  const texts = t().models;
  const [prompt, setPrompt] = useState(texts.tryPrompt);
  const [answer, setAnswer] = useState<Answer | null>(null);
  const abort = useRef<AbortController | null>(null);
  const [isBusy, setBusy] = useState(false);
  // Nobody reads an answer whose window is closed, and each word of it costs.
  useEffect(() => () => abort.current?.abort(), []);

  const ask = async (): Promise<void> => {
    abort.current?.abort();
    const controller = new AbortController();
    abort.current = controller;
    setBusy(true);
    const began = performance.now();
    let now: Answer = { text: '', firstMs: null, wholeMs: null, callId: null, error: null };
    const show = (changes: Partial<Answer>): void => {
      now = { ...now, ...changes };
      setAnswer(now);
    };
    show({});
    try {
      const body = {
        model,
        stream: true,
        max_tokens: MOST_TOKENS,
        messages: [{ role: 'user', content: prompt }],
      };
      const response = await open('POST', 'ui/v1/chat/completions', { body, signal: controller.signal });
      show({ callId: response.headers.get('x-litellm-call-id') });
      let isEnded = false;
      for await (const { data } of eventsOf(response)) {
        if (data === '[DONE]') isEnded = true;
        else {
          const { text, error } = readEvent(data);
          if (error !== null) throw new ApiError(error, 0);
          if (text !== '') show({ text: now.text + text, firstMs: now.firstMs ?? performance.now() - began });
        }
      }
      show({ wholeMs: performance.now() - began, error: isEnded ? null : texts.tryCut });
    } catch (thrown) {
      show({ error: controller.signal.aborted ? texts.tryStopped : (thrown as Error).message });
    }
    setBusy(false);
  };

  return (
    <Panel title={texts.tryIt} note={texts.tryNote}>
      <Form
        label={texts.tryLabel}
        onSubmit={() => void ask()}
        error={null}
        actions={
          isBusy ? (
            <Button icon="pause" onClick={() => abort.current?.abort()}>
              {texts.tryStop}
            </Button>
          ) : (
            <Button kind="primary" icon="play" type="submit">
              {texts.tryGo}
            </Button>
          )
        }
      >
        <TextArea label={texts.tryLabel} value={prompt} onInput={setPrompt} rows={2} />
      </Form>
      {answer === null ? null : (
        <div class="try-answer" aria-live="polite">
          <p class="try-text">{answer.text}</p>
          {answer.error === null ? null : (
            <p class="model-error" role="alert">
              {answer.error}
            </p>
          )}
          <p class="quiet">
            {answer.firstMs === null ? '' : texts.tryFirst(duration(answer.firstMs))}
            {answer.wholeMs === null ? '' : ` · ${texts.tryWhole(duration(answer.wholeMs))}`}
            {answer.callId === null ? null : (
              <>
                {' '}
                <a href={hrefOf('calls', { id: answer.callId })}>{texts.tryCall}</a>
              </>
            )}
          </p>
        </div>
      )}
    </Panel>
  );
}

function readEvent(data: string): { readonly text: string; readonly error: string | null } {
  const event = JSON.parse(data) as {
    readonly error?: { readonly message?: string };
    readonly choices?: readonly { readonly delta?: { readonly content?: string | null } }[];
  };
  if (event.error !== undefined) return { text: '', error: event.error.message ?? data };
  return { text: event.choices?.map(({ delta }) => delta?.content ?? '').join('') ?? '', error: null };
}
