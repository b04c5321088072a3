// The chain as a picture: callers, this proxy, each gateway, its models. Lines are as wide as their traffic; faults are a
// dashed line over them. The boxes are links. On a phone it is a list.
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Chain, ChainDeployment, ChainGateway, Traffic } from '../../api/types.ts';
import { hrefOf } from '../../base/router.ts';
import { count, duration, percent, short } from '../../format/numbers.ts';
import { t } from '../../text/index.ts';
import { Mark } from '../../ui/badge.tsx';
import { CONDITION_TONES, conditionOf, faultShare } from '../../ui/condition.ts';
import { layOut, type Box, type Edge } from './layout.ts';

/** Less is a list. */
const NARROW = 680;

export function ChainPicture({ chain }: { chain: Chain }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    setWidth(element.clientWidth);
    return () => observer.disconnect();
  }, []);
  return (
    <div ref={box} class="chain">
      {width === 0 ? null : <Drawn chain={chain} width={width} />}
    </div>
  );
}

function Drawn({ chain, width }: { chain: Chain; width: number }): JSX.Element {
  const isNarrow = width < NARROW;
  const layout = useMemo(() => layOut(chain, width), [chain, width]);
  const texts = t().overview;
  const more =
    layout.left > 0 ? (
      <p class="chain-note">
        <a href={hrefOf('models')}>{texts.moreModels(count(layout.left))}</a>
      </p>
    ) : null;
  if (isNarrow) {
    return (
      <>
        <div class="chain-list">
          {order(layout.boxes).map((one) => (
            <Node key={one.key} box={one} chain={chain} placed={false} />
          ))}
        </div>
        {more}
      </>
    );
  }
  return (
    <>
      <div class="chain-drawn" style={{ height: `${layout.height}px` }}>
        <svg width={width} height={layout.height} aria-hidden="true">
          {layout.edges.map((edge) => (
            <Line key={edge.key} edge={edge} />
          ))}
        </svg>
        {order(layout.boxes).map((one) => (
          <Node key={one.key} box={one} chain={chain} placed />
        ))}
      </div>
      {more}
    </>
  );
}

const RANKS = ['callers', 'proxy', 'gateway', 'model'] as const;

/** As a call passes them; each gateway before its models. */
function order(boxes: readonly Box[]): readonly Box[] {
  const rank = ({ part }: Box): number => Math.min(2, RANKS.indexOf(part.is));
  return boxes.toSorted((a, b) => rank(a) - rank(b));
}

/** Slower than this a line does not seem to move. */
const SLOWEST_S = 12;
const FASTEST_S = 0.7;

const DASH_PX = 7;
const WIDEST_GAP_PX = 56;

/** As much of the line as failed, down to a dash here and there. */
function dashes(share: number): string {
  return `${DASH_PX} ${Math.round(Math.min(WIDEST_GAP_PX, Math.max(DASH_PX - 2, DASH_PX / share - DASH_PX)))}`;
}

function Line({ edge: { path, width, callsPerMinute, faultShare: share } }: { edge: Edge }): JSX.Element {
  const seconds = Math.max(FASTEST_S, SLOWEST_S / (1 + Math.sqrt(callsPerMinute)));
  return (
    <g>
      <path class="lane" d={path} style={{ strokeWidth: `${width}px` }} />
      {callsPerMinute > 0 ? (
        <path
          class="flow"
          d={path}
          style={{ strokeWidth: `${Math.max(1.25, width - 3)}px`, '--pace': `${seconds}s` }}
        />
      ) : null}
      {share > 0 ? (
        <path
          class="faulty"
          d={path}
          style={{
            strokeWidth: `${Math.max(1.75, width * Math.sqrt(share))}px`,
            strokeDasharray: dashes(share),
          }}
        />
      ) : null}
    </g>
  );
}

function Node({ box, chain, placed }: { box: Box; chain: Chain; placed: boolean }): JSX.Element {
  const { part } = box;
  const place = placed
    ? {
        left: `${box.x}px`,
        top: `${box.y}px`,
        width: `${box.width}px`,
        height: `${box.height}px`,
      }
    : {};
  switch (part.is) {
    case 'callers':
      return <Callers chain={chain} place={place} />;
    case 'proxy':
      return <Proxy chain={chain} place={place} />;
    case 'gateway':
      return <Gateway gateway={part.gateway} place={place} />;
    case 'model':
      return <Model deployment={part.deployment} place={place} />;
  }
}

type Place = Readonly<Record<string, string>>;

function Callers({ chain, place }: { chain: Chain; place: Place }): JSX.Element {
  const texts = t().overview;
  return (
    <div class="node callers" style={place}>
      <span class="name">{texts.callers}</span>
      <span class="detail">{texts.perMinute(short(chain.traffic.calls_per_minute))}</span>
    </div>
  );
}

function Proxy({ chain, place }: { chain: Chain; place: Place }): JSX.Element {
  const texts = t().overview;
  const { proxy } = chain;
  return (
    <a class="node proxy" style={place} href={hrefOf('system')}>
      <span class="name">{texts.proxy}</span>
      <span class="detail">
        {texts.callsDetail(count(proxy.in_flight))}
        {proxy.overhead_ms.p95 === null ? '' : ` · +${duration(proxy.overhead_ms.p95)}`}
      </span>
    </a>
  );
}

function Gateway({ gateway, place }: { gateway: ChainGateway; place: Place }): JSX.Element {
  const texts = t().overview;
  const name = gateway.gateway.replace(/^https?:\/\//, '');
  const state = conditionOf(gateway.state, gateway);
  return (
    <a
      class={`node gateway ${CONDITION_TONES[state]}`}
      style={place}
      href={hrefOf('models', { gateway: gateway.gateway })}
      title={gateway.gateway}
    >
      <span class="name">
        <Mark tone={CONDITION_TONES[state]} />
        <span class="cut">{name}</span>
      </span>
      <span class="detail">
        <span class="word">
          {state === 'ok' || state === 'quiet'
            ? texts.gatewayDetail(count(gateway.deployments))
            : texts.states[state]}
        </span>
        <Measured traffic={gateway} />
      </span>
    </a>
  );
}

function Model({ deployment, place }: { deployment: ChainDeployment; place: Place }): JSX.Element {
  const texts = t().overview;
  const state = conditionOf(deployment.state, deployment);
  const rests =
    deployment.ends_in_s === null
      ? texts.states[state]
      : texts.restsFor(duration(deployment.ends_in_s * 1000));
  return (
    <a
      class={`node model ${CONDITION_TONES[state]}`}
      style={place}
      href={hrefOf('models', { id: deployment.id })}
      title={`${deployment.model_name} → ${deployment.upstream_model}${deployment.reason === null ? '' : `: ${deployment.reason}`}`}
    >
      <span class="name">
        <Mark tone={CONDITION_TONES[state]} />
        <span class="cut">{deployment.model_name}</span>
      </span>
      <span class="detail">
        <span class="word">{state === 'cooling_down' ? rests : texts.states[state]}</span>
        <Measured traffic={deployment} />
      </span>
    </a>
  );
}

function Measured({ traffic }: { traffic: Traffic }): JSX.Element | null {
  if (traffic.calls === 0) return null;
  const texts = t().overview;
  const share = faultShare(traffic);
  return (
    <span class="measured">
      {texts.perMinute(short(traffic.calls_per_minute))}
      {share > 0 ? <span class="share"> · {texts.faultShare(percent(share))}</span> : null}
      {traffic.first_byte_ms.p95 === null ? null : ` · ${duration(traffic.first_byte_ms.p95)}`}
    </span>
  );
}
