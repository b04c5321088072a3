// The whole page: the sign-in form or the frame with one of the pages in it.
import { messageOf } from '../base/message.ts';
import type { ComponentType, JSX } from 'preact';
import { Component } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { hrefOf } from '../base/router.ts';
import { now } from '../base/now.ts';
import { clock, zone, zoneName } from '../format/time.ts';
import { t } from '../text/index.ts';
import { Button } from '../ui/button.tsx';
import { Icon } from '../ui/icon.tsx';
import { Empty, Loading } from '../ui/states.tsx';
import { toast, Toasts } from '../ui/toast.tsx';
import { Banners } from './banner.tsx';
import { currentPage } from './current.ts';
import { Help } from './help.tsx';
import { Away, Login, SignInAgain } from './login.tsx';
import { Nav } from './nav.tsx';
import { isPage, pageOf, type Page } from './pages.ts';
import { openPalette, Palette, PALETTE_KEY } from './palette.tsx';
import { answers, personOf, session } from './session.ts';
import { isShown, isSwitchedOff } from './visible.ts';

export function App(): JSX.Element | null {
  const state = session.value;
  switch (state.is) {
    case 'asking':
      return null;
    case 'away':
      return <Away />;
    case 'out':
      return <Login state={state} />;
    case 'in':
      return (
        <>
          {/* Somebody else finds nothing of it. */}
          <Frame key={personOf(state.who)} />
          {state.ended === null ? null : <SignInAgain ended={state.ended} />}
        </>
      );
  }
}

function Frame(): JSX.Element {
  const name = currentPage.value;
  const page = pageOf(name);
  return (
    <>
      <a class="skip" href="#page">
        {t().shell.skip}
      </a>
      <div class="frame">
        <Nav />
        <div class="main">
          <Header name={name} />
          <main id="page" tabIndex={-1}>
            <Banners />
            <Crashable key={name}>
              <Shown name={name} page={page} />
            </Crashable>
          </main>
        </div>
      </div>
      <Palette />
      <Help />
      <Toasts />
    </>
  );
}

function Header({ name }: { name: string }): JSX.Element {
  const title = isPage(name) ? t().pages[name].question : t().states.notFound;
  const heading = useRef<HTMLHeadingElement>(null);
  const isFirst = useRef(true);
  useEffect(() => {
    document.title = `${isPage(name) ? t().pages[name].name : title} · ${t().common.product}`;
    // Whoever hears the page learns that it is another one.
    if (!isFirst.current) heading.current?.focus({ preventScroll: true });
    isFirst.current = false;
    window.scrollTo(0, 0);
  }, [name]);
  return (
    <header class="top">
      <h1 ref={heading} tabIndex={-1}>
        {title}
      </h1>
      <button
        type="button"
        class="button quiet finder"
        onClick={() => openPalette()}
        title={t().shell.palette}
      >
        <Icon name="search" />
        <span class="word">{t().common.search}</span>
        <kbd aria-hidden="true">{PALETTE_KEY}</kbd>
      </button>
      <Clock />
    </header>
  );
}

function Clock(): JSX.Element {
  const texts = t().shell;
  const isUtc = zone.value === 'utc';
  return (
    <button
      type="button"
      class="button quiet clock"
      title={isUtc ? texts.clockTitle : texts.clockLocalTitle}
      onClick={() => {
        zone.value = isUtc ? 'local' : 'utc';
      }}
    >
      <span class="hidden">{texts.clock}</span>
      <time>{clock(now.value)}</time> <span class="zone">{zoneName()}</span>
    </button>
  );
}

const loaded = new Map<Page, ComponentType>();

function Shown({ name, page }: { name: string; page: Page | null }): JSX.Element {
  const [, redraw] = useState(0);
  const [failure, setFailure] = useState<unknown>(null);
  const [sinceMs] = useState(() => Date.now());
  const isOpen = page !== null && isShown(page);
  useEffect(() => {
    if (page === null || !isOpen || loaded.has(page)) return;
    const load = async (): Promise<void> => {
      try {
        const { Page: component } = await page.load();
        loaded.set(page, component);
        redraw((n) => n + 1);
      } catch (error) {
        setFailure(error);
      }
    };
    void load();
  }, [page, isOpen]);
  const texts = t().states;
  if (page === null) {
    return (
      <Empty title={texts.notFound} icon="search" action={<a href={hrefOf('')}>{texts.toOverview}</a>}>
        {texts.notFoundWhy}
      </Empty>
    );
  }
  if (isSwitchedOff(page)) {
    return (
      <Empty title={texts.switchedOff} icon="system">
        {texts.switchedOffWhy(name)}
      </Empty>
    );
  }
  if (!isOpen) {
    return (
      <Empty title={texts.forbidden} icon="key">
        {texts.forbiddenWhy}
      </Empty>
    );
  }
  if (failure !== null) return <NotFetched failure={failure} />;
  const Content = loaded.get(page);
  if (Content === undefined) return <Loading sinceMs={sinceMs} />;
  return (
    <div class={`page page-${name}`}>
      <Content />
    </div>
  );
}

/** While the proxy is away, or after an update, when a file of the older version is gone: a load fetches the new page. */
function NotFetched({ failure }: { failure: unknown }): JSX.Element {
  const texts = t().states;
  const load = async (): Promise<void> => {
    // Without an answer the browser would put a page of its own here.
    if (await answers()) location.reload();
    else toast(t().login.away, 'bad');
  };
  return (
    <Empty
      title={texts.notFetched}
      icon="alert"
      action={
        <Button icon="refresh" onClick={() => void load()}>
          {t().common.retry}
        </Button>
      }
    >
      <p>{texts.notFetchedWhy}</p>
      <p class="quiet">{messageOf(failure)}</p>
    </Empty>
  );
}

/** An error of one page leaves the frame: others can be opened. */
class Crashable extends Component<{ children: JSX.Element }, { error: unknown }> {
  override state = { error: null as unknown };

  override componentDidCatch(error: unknown): void {
    this.setState({ error });
  }

  override render(): JSX.Element {
    const { error } = this.state;
    if (error === null) return this.props.children;
    const texts = t().states;
    return (
      <Empty
        title={texts.crashed}
        icon="alert"
        action={
          <Button icon="refresh" onClick={() => location.reload()}>
            {t().common.retry}
          </Button>
        }
      >
        <p>{texts.crashedWhy}</p>
        <p class="quiet">{messageOf(error)}</p>
      </Empty>
    );
  }
}
