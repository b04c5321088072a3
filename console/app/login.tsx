// The sign-in form: a key, or a provider's login. The address stays, so that the page comes back with its filters.
import { messageOf } from '../base/message.ts';
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ApiError } from '../api/client.ts';
import type { SignIn } from '../api/types.ts';
import { duration } from '../format/numbers.ts';
import { param, setParams } from '../base/router.ts';
import { LANGUAGES, LANGUAGE_NAMES, language, t } from '../text/index.ts';
import { Mark } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Required } from '../ui/dialog.tsx';
import { Form, TextField } from '../ui/field.tsx';
import { Product } from './nav.tsx';
import { askSession, providerHref, signIn, type SignedOut } from './session.ts';

const ASK_AGAIN_MS = 3000;

export function Login({ state }: { state: SignedOut }): JSX.Element {
  const texts = t().login;
  const why = texts.why[state.why];
  const provider = providerWhy();
  useTitle(texts.title);
  return (
    <LoginPage>
      {provider === null ? null : (
        <p class="form-error" role="alert">
          <Mark tone="bad" /> {provider}
        </p>
      )}
      {why === '' || provider !== null ? null : <p class="login-why">{why}</p>}
      {state.isSecure ? null : (
        <p class="login-why">
          <Mark tone="warn" /> {t().shell.insecure}
        </p>
      )}
      <Provider signIn={state.signIn} />
      {state.signIn.key ? <KeyForm /> : null}
    </LoginPage>
  );
}

/** The session ended under a page that somebody works at: it stays as it is, covered, and what was typed with it. */
export function SignInAgain({ ended }: { ended: SignedOut }): JSX.Element {
  const texts = t().login;
  useEffect(() => {
    // Somebody has signed in in another tab, as at a provider, whose pages would replace this one.
    const ask = (): void => {
      if (document.visibilityState === 'visible') void askSession('expired');
    };
    document.addEventListener('visibilitychange', ask);
    return () => document.removeEventListener('visibilitychange', ask);
  }, []);
  return (
    <Required title={texts.title}>
      <p>{texts.why[ended.why]}</p>
      <p class="login-why">{texts.again}</p>
      <Provider signIn={ended.signIn} inNewTab />
      {ended.signIn.key ? <KeyForm /> : null}
    </Required>
  );
}

/** The proxy does not answer: no form, and it asks again by itself. */
export function Away(): JSX.Element {
  const texts = t().login;
  useTitle(texts.away);
  useEffect(() => {
    const timer = setInterval(() => void askSession(), ASK_AGAIN_MS);
    return () => clearInterval(timer);
  }, []);
  return (
    <LoginPage>
      <p class="form-error" role="alert">
        <Mark tone="bad" /> {texts.away}
      </p>
      <p class="login-why">{texts.awayWhy}</p>
      <Button icon="refresh" onClick={() => void askSession()}>
        {t().common.retry}
      </Button>
    </LoginPage>
  );
}

function LoginPage({ children }: { children: unknown }): JSX.Element {
  return (
    <main class="login">
      <div class="card">
        <h1>
          <Product size={28} />
          {t().common.product}
        </h1>
        {children as JSX.Element}
        <p class="languages">
          {LANGUAGES.map((one) => (
            <button
              key={one}
              type="button"
              lang={one}
              aria-pressed={language.value === one}
              onClick={() => {
                language.value = one;
              }}
            >
              {LANGUAGE_NAMES[one]}
            </button>
          ))}
        </p>
      </div>
    </main>
  );
}

function Provider({
  signIn: { oidc, key },
  inNewTab = false,
}: {
  readonly signIn: SignIn;
  readonly inNewTab?: boolean;
}): JSX.Element | null {
  if (oidc === null) return null;
  return (
    <>
      <a class="button primary wide" href={providerHref(oidc.path)} target={inNewTab ? '_blank' : undefined}>
        {t().login.with(oidc.name)}
      </a>
      {inNewTab ? <p class="login-why">{t().login.inNewTab}</p> : null}
      {key ? <p class="or">{t().login.or}</p> : null}
    </>
  );
}

function KeyForm(): JSX.Element {
  const texts = t().login;
  const [key, setKey] = useState('');
  const [state, setState] = useState<{ busy: boolean; error: string | null }>({ busy: false, error: null });
  const submit = async (): Promise<void> => {
    const typed = key.trim();
    if (typed === '') {
      setState({ busy: false, error: texts.missing });
      return;
    }
    setState({ busy: true, error: null });
    try {
      await signIn(typed);
    } catch (error) {
      setState({ busy: false, error: sentence(error) });
    }
  };
  return (
    <Form
      label={texts.title}
      onSubmit={() => void submit()}
      actions={
        <Button type="submit" kind="primary" busy={state.busy}>
          {texts.submit}
        </Button>
      }
    >
      <TextField
        label={texts.key}
        hint={texts.keyHint}
        error={state.error}
        type="password"
        autoComplete="current-password"
        mono
        autoFocus
        value={key}
        onInput={setKey}
      />
    </Form>
  );
}

function sentence(error: unknown): string {
  const texts = t().login;
  if (!(error instanceof ApiError)) return messageOf(error);
  if (error.code === 'invalid_api_key') return texts.wrong;
  if (error.status === 429)
    return texts.tooMany(error.retryAfterS === null ? '…' : duration(error.retryAfterS * 1000));
  return error.side === 'network' ? t().states.sides.network : error.message;
}

/** What a provider's login ended with; said once. */
function providerWhy(): string | null {
  const why = param('signin');
  const texts = t().login.provider;
  const isKnown = (word: string): word is keyof typeof texts => Object.hasOwn(texts, word);
  const [said] = useState(isKnown(why) ? why : null);
  useEffect(() => {
    if (why !== '') setParams({ signin: null }, { replace: true });
  }, [why]);
  return said === null ? null : texts[said];
}

function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · ${t().common.product}`;
  }, [title]);
}
