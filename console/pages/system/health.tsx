// The machine, its journal and its store, the last reload.
import type { JSX } from 'preact';
import { useResource } from '../../api/resource.ts';
import type { Chain } from '../../api/types.ts';
import { CHAIN_MS } from '../../base/live.ts';
import { hrefOf } from '../../base/router.ts';
import { bytes, count, duration, percent } from '../../format/numbers.ts';
import { dateTime } from '../../format/time.ts';
import { t } from '../../text/index.ts';
import { Badge } from '../../ui/badge.tsx';
import { Findings } from '../../ui/findings.tsx';
import { Ledger } from '../../ui/ledger.tsx';
import { Facts, Panel } from '../../ui/panel.tsx';
import { Loads } from '../../ui/states.tsx';
import { Servers } from './servers.tsx';
import { ReloadResult } from './reload.tsx';

/** From here on the server counts it as a fault of the machine. */
const LAG_MS = 250;

export function Health(): JSX.Element {
  const chain = useResource<Chain>('chain', { everyMs: CHAIN_MS });
  return (
    <Loads from={chain} lines={10}>
      {(data) => (
        <div class="stacked">
          <div class="columns">
            <ToDo chain={data} />
            <Machine chain={data} />
            <div class="stacked">
              <Ledger title={t().system.ledger} of={data.ledger} showsNone />
              <Reload chain={data} />
            </div>
          </div>
          <Servers chain={data} />
        </div>
      )}
    </Loads>
  );
}

function Machine({ chain: { proxy } }: { chain: Chain }): JSX.Element {
  const texts = t().system;
  const { workers } = proxy;
  return (
    <Panel title={texts.machine}>
      <Facts
        rows={[
          [texts.host, <code key="host">{proxy.host}</code>],
          [texts.version, proxy.version],
          [texts.startedAt, dateTime(proxy.started_at)],
          [texts.uptime, duration(proxy.uptime_s * 1000)],
          [
            texts.workers,
            <Badge key="workers" tone={workers.serving < workers.configured ? 'warn' : 'good'}>
              {texts.workersOf(count(workers.serving), count(workers.configured))}
              {workers.silent.length === 0 ? '' : `, ${texts.silent(workers.silent.join(', '))}`}
            </Badge>,
          ],
          [texts.cpu, texts.cpuOf(percent(proxy.cpu_share))],
          [texts.memory, bytes(proxy.memory_bytes)],
          [
            texts.lag,
            proxy.event_loop_lag_ms > LAG_MS ? (
              <Badge key="lag" tone="warn">
                {duration(proxy.event_loop_lag_ms)}
              </Badge>
            ) : (
              duration(proxy.event_loop_lag_ms)
            ),
          ],
          [
            texts.overhead,
            texts.overheadOf(duration(proxy.overhead_ms.p50), duration(proxy.overhead_ms.p95)),
          ],
          [texts.inFlight, count(proxy.in_flight)],
          [texts.queued, count(proxy.queued)],
          [texts.refused, count(proxy.refused_per_minute)],
        ]}
      />
    </Panel>
  );
}

function Reload({ chain: { reload, proxy } }: { chain: Chain }): JSX.Element {
  const texts = t().overview;
  return (
    <Panel title={t().system.reload}>
      <Facts
        rows={[
          [texts.configResult, <ReloadResult key="result" of={reload} />],
          [texts.configAt, dateTime(reload.since)],
          [texts.configVersion, <code key="version">{proxy.config_version}</code>],
          [
            texts.configIssues,
            <a key="issues" href={hrefOf('system', { tab: 'configuration' })}>
              {texts.issues(count(reload.errors), count(reload.warnings))}
            </a>,
          ],
        ]}
      />
    </Panel>
  );
}

function ToDo({ chain: { findings, findings_total } }: { chain: Chain }): JSX.Element {
  return (
    <Panel title={t().overview.findings}>
      <Findings findings={findings} total={findings_total} />
    </Panel>
  );
}
