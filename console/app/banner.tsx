// Above every page: what needs a person now. Only what cannot wait until somebody looks at the overview.
import type { ComponentChildren, JSX } from 'preact';
import { useResource, type Loaded } from '../api/resource.ts';
import type { Chain } from '../api/types.ts';
import { hrefOf } from '../base/router.ts';
import { count } from '../format/numbers.ts';
import { t } from '../text/index.ts';
import { Mark, type Tone } from '../ui/badge.tsx';
import { CHAIN_MS } from '../base/live.ts';
import { may, session } from './session.ts';

export function Banners(): JSX.Element {
  const state = session.value;
  const texts = t().shell;
  return (
    <div class="banners">
      {state.is === 'in' && !state.isSecure ? <Banner tone="warn">{texts.insecure}</Banner> : null}
      {state.is === 'in' && state.who.kind === 'open' ? <Banner tone="warn">{texts.openToAll}</Banner> : null}
      {may('chain') ? <ChainBanners /> : null}
    </div>
  );
}

function ChainBanners(): JSX.Element {
  const { state } = useResource<Chain>('chain', { everyMs: CHAIN_MS });
  return (
    <div role="status" aria-live="polite">
      {bannersOf(state.value).map(({ key, tone, text, link }) => (
        <Banner key={key} tone={tone}>
          {text} {link === null ? null : <a href={link}>{t().shell.seeSystem}</a>}
        </Banner>
      ))}
    </div>
  );
}

interface Said {
  readonly key: string;
  readonly tone: Tone;
  readonly text: string;
  /** Where the page shows more; null = nowhere. */
  readonly link: string | null;
}

function bannersOf(state: Loaded<Chain>): readonly Said[] {
  const texts = t().shell;
  const system = hrefOf('system');
  const isAway =
    (state.is === 'ready' && state.error?.side === 'network') ||
    (state.is === 'failed' && state.error.side === 'network');
  const all: Said[] = isAway ? [{ key: 'away', tone: 'bad', text: texts.away, link: null }] : [];
  if (state.is !== 'ready') return all;
  const { ledger, proxy, reload, alerts } = state.data;
  if (!ledger.writable) all.push({ key: 'journal', tone: 'bad', text: texts.unwritable, link: system });
  if (ledger.rows_at_risk > 0)
    all.push({ key: 'risk', tone: 'bad', text: texts.atRisk(count(ledger.rows_at_risk)), link: system });
  if (proxy.draining) all.push({ key: 'draining', tone: 'warn', text: texts.draining, link: null });
  if (!ledger.store_reachable) all.push({ key: 'store', tone: 'warn', text: texts.storeAway, link: system });
  if (reload.result === 'refused')
    all.push({ key: 'reload', tone: 'warn', text: texts.refused, link: system });
  if (alerts.failed > 0)
    all.push({
      key: 'alerts',
      tone: 'warn',
      text: texts.undelivered(count(alerts.failed)),
      link: hrefOf('system', { tab: 'alerts', state: 'failed' }),
    });
  return all;
}

function Banner({ tone, children }: { tone: Tone; children: ComponentChildren }): JSX.Element {
  return (
    <p class={`banner ${tone}`}>
      <Mark tone={tone} size={12} />
      <span>{children}</span>
    </p>
  );
}
