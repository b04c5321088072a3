// The overview: one sentence, four figures, the picture of the chain, the ledger, what to do. All from `GET /chain`, which
// the proxy holds in memory: it is there while the store is away.
import type { JSX } from 'preact';
import { useResource } from '../../api/resource.ts';
import type { Chain, Traffic } from '../../api/types.ts';
import { CHAIN_MS } from '../../base/live.ts';
import { hrefOf } from '../../base/router.ts';
import { count, duration, exactMoney, money, percent, short } from '../../format/numbers.ts';
import { dateTime } from '../../format/time.ts';
import { t } from '../../text/index.ts';
import { Badge, Mark, type Tone } from '../../ui/badge.tsx';
import { CopyButton } from '../../ui/copy.tsx';
import { Findings } from '../../ui/findings.tsx';
import { Ledger } from '../../ui/ledger.tsx';
import { Facts, Figure, Panel } from '../../ui/panel.tsx';
import { Sparkline } from '../../ui/sparkline.tsx';
import { Empty, Loads } from '../../ui/states.tsx';
import { API_BASE, shellWord } from '../../base/urls.ts';
import { ChainPicture } from './chain-picture.tsx';
import { faultShare } from '../../ui/condition.ts';
import './overview.css';

export function Page(): JSX.Element {
  const chain = useResource<Chain>('chain', { everyMs: CHAIN_MS });
  return (
    <Loads from={chain} lines={12}>
      {(data) => (
        <div class="stacked">
          <Verdict chain={data} />
          <Figures chain={data} />
          <Panel
            title={t().overview.chain}
            note={t().overview.window(count(data.window_s / 60))}
            actions={<Legend />}
          >
            {data.deployments_total === 0 ? (
              <Empty title={t().overview.noModels} icon="box">
                {t().overview.noModelsWhy}
              </Empty>
            ) : (
              <ChainPicture chain={data} />
            )}
            <FirstCall chain={data} />
          </Panel>
          <div class="columns">
            <Panel title={t().overview.findings}>
              <Findings findings={data.findings} total={data.findings_total} />
            </Panel>
            <Ledger title={t().overview.ledger} of={data.ledger} />
            <Config chain={data} />
          </div>
        </div>
      )}
    </Loads>
  );
}

const TONES: Readonly<Record<Chain['verdict']['level'], Tone>> = {
  ok: 'good',
  info: 'good',
  warning: 'warn',
  error: 'bad',
};

function Verdict({ chain }: { chain: Chain }): JSX.Element {
  const { level, text } = chain.verdict;
  const own = t().overview.verdict[verdictKey(chain)];
  const { silent } = chain.proxy.workers;
  return (
    <div class={`verdict ${TONES[level]}`}>
      <Mark tone={TONES[level]} size={16} />
      <p>
        <strong>{own ?? text}</strong>
        {/* The server's sentence names what it is about; it is English in every language of the page. */}
        {own === null || level === 'ok' || level === 'info' ? null : (
          <span class="said" lang="en">
            {text}
          </span>
        )}
        {/* Figures in the sentence change every second; it is read out when its weight changes. */}
        <span class="hidden" role="status">
          {t().overview.spoken[level]}
        </span>
        {silent.length === 0 ? null : (
          <span class="said">{t().overview.workersSilent(silent.join(', '))}</span>
        )}
      </p>
    </div>
  );
}

function verdictKey({ verdict: { level }, traffic }: Chain): 'ok' | 'quiet' | 'warning' | 'error' {
  if (level === 'warning' || level === 'error') return level;
  return traffic.calls === 0 ? 'quiet' : 'ok';
}

function Figures({ chain }: { chain: Chain }): JSX.Element {
  const texts = t().overview;
  const { traffic, history, proxy, spend_today: spend } = chain;
  const faulty = history.upstream.map((one, i) => one + (history.proxy[i] ?? 0));
  const inFlight = count(proxy.in_flight);
  return (
    <div class="figures">
      <Figure
        name={texts.calls}
        value={short(traffic.calls_per_minute)}
        unit={t().common.perMinute}
        href={hrefOf('calls')}
        detail={
          proxy.queued > 0 ? texts.callsQueued(inFlight, count(proxy.queued)) : texts.callsDetail(inFlight)
        }
      >
        <Sparkline values={history.calls} faults={faulty} label={texts.lastHour(texts.calls)} />
      </Figure>
      <Figure
        name={texts.faults}
        value={percent(faultShare(traffic))}
        href={hrefOf('calls', { status: 'failure' })}
        detail={<FaultSides faults={traffic.faults} />}
      >
        <Sparkline values={faulty} label={texts.lastHour(texts.faults)} />
      </Figure>
      <Figure
        name={texts.firstByte}
        value={duration(traffic.first_byte_ms.p95)}
        detail={[
          texts.firstByteDetail(duration(traffic.first_byte_ms.p50)),
          // The median as well: the two are read as a whole and its part.
          proxy.overhead_ms.p50 === null ? '' : texts.overhead(duration(proxy.overhead_ms.p50)),
        ]
          .filter(Boolean)
          .join(' · ')}
      >
        <Sparkline values={history.first_byte_p95_ms} label={texts.lastHour(texts.firstByte)} />
      </Figure>
      <Figure
        name={texts.spend}
        value={money(spend?.usd)}
        title={exactMoney(spend?.usd)}
        href={hrefOf('spend')}
        detail={spendDetail(spend)}
      />
    </div>
  );
}

function spendDetail(spend: Chain['spend_today']): string {
  const texts = t().overview;
  if (spend === null) return texts.spendUnknown;
  const calls = count(spend.calls);
  return spend.unpriced > 0 ? texts.spendUnpriced(calls, count(spend.unpriced)) : texts.spendDetail(calls);
}

function FaultSides({ faults }: { faults: Traffic['faults'] }): JSX.Element {
  const texts = t().overview;
  const sides = (['upstream', 'proxy', 'client'] as const).filter((side) => faults[side] > 0);
  if (sides.length === 0) return <>{texts.noFaults}</>;
  return <>{sides.map((side) => `${count(faults[side])} ${texts.faultSides[side]}`).join(' · ')}</>;
}

function Legend(): JSX.Element {
  const texts = t().overview.chainLegend;
  return (
    <span class="legend">
      <span class="traffic">{texts.traffic}</span>
      <span class="faulty">{texts.faults}</span>
    </span>
  );
}

/** How the first call is made, until there was one. */
function FirstCall({ chain }: { chain: Chain }): JSX.Element | null {
  const texts = t().overview;
  const model = chain.deployments[0]?.model_name;
  if (chain.traffic.calls > 0 || model === undefined) return null;
  if (chain.spend_today === null || chain.spend_today.calls > 0)
    return <p class="quiet chain-note">{texts.noTraffic}</p>;
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] });
  const command = `curl ${API_BASE.href}v1/chat/completions -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d ${shellWord(body)}`;
  return (
    <div class="chain-note">
      <p>{texts.firstRun}</p>
      <p class="command">
        <code>{command}</code>
        <CopyButton text={command} />
      </p>
    </div>
  );
}

function Config({ chain: { proxy, reload } }: { chain: Chain }): JSX.Element {
  const texts = t().overview;
  const { workers } = proxy;
  const isWell = reload.errors === 0 && reload.result !== 'refused';
  const issues =
    reload.errors + reload.warnings === 0
      ? texts.noIssues
      : texts.issues(count(reload.errors), count(reload.warnings));
  return (
    <Panel title={texts.config}>
      <Facts
        rows={[
          [texts.configVersion, <code key="version">{proxy.config_version}</code>],
          [texts.configAt, dateTime(reload.since)],
          [
            texts.configIssues,
            <a key="issues" href={hrefOf('system', { tab: 'configuration' })}>
              {isWell ? issues : <Badge tone="warn">{issues}</Badge>}
            </a>,
          ],
          [texts.uptime, duration(proxy.uptime_s * 1000)],
          [
            texts.workers,
            <Badge key="workers" tone={workers.serving < workers.configured ? 'warn' : 'good'}>
              {texts.workersOf(count(workers.serving), count(workers.configured))}
            </Badge>,
          ],
        ]}
      />
    </Panel>
  );
}
