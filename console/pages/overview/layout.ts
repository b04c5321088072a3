// Where the parts of the chain stand: pure arithmetic, so that a picture is the same for the same figures.
import { faultShare } from '../../ui/condition.ts';
import type { Chain, ChainDeployment, ChainGateway, Traffic } from '../../api/types.ts';

/** What one box shows. */
export type Part =
  | { readonly is: 'callers' }
  | { readonly is: 'proxy' }
  | { readonly is: 'gateway'; readonly gateway: ChainGateway }
  | { readonly is: 'model'; readonly deployment: ChainDeployment };

export interface Box {
  readonly key: string;
  readonly part: Part;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface Edge {
  readonly key: string;
  readonly from: string;
  readonly to: string;
  readonly path: string;
  /** Pixels. */
  readonly width: number;
  readonly callsPerMinute: number;
  readonly faultShare: number;
}

export interface Layout {
  readonly height: number;
  readonly boxes: readonly Box[];
  readonly edges: readonly Edge[];
  /** Models that have no place. */
  readonly left: number;
}

const MODEL_HEIGHT = 44;
const BOX_HEIGHT = 60;
const GAP = 8;
const GROUP_GAP = 20;
const MOST_MODELS = 14;
const THINNEST = 1.25;
const WIDEST = 9;

/** Boxes and lines for a picture of `width` pixels. */
export function layOut(chain: Chain, width: number): Layout {
  const columns = columnsFor(width);
  const shown = new Set(chain.deployments.slice(0, MOST_MODELS));
  const groups = chain.gateways.map((gateway) => ({
    gateway,
    deployments: [...shown].filter((one) => one.gateway === gateway.gateway),
  }));
  const boxes: Box[] = [];
  const edges: Omit<Edge, 'path' | 'width'>[] = [];
  let y = 0;
  for (const { gateway, deployments } of groups) {
    const tall = Math.max(BOX_HEIGHT, deployments.length * (MODEL_HEIGHT + GAP) - GAP);
    const key = `gateway ${gateway.gateway}`;
    boxes.push({
      key,
      part: { is: 'gateway', gateway },
      ...columns.gateway,
      y: y + (tall - BOX_HEIGHT) / 2,
      height: BOX_HEIGHT,
    });
    edges.push({ key, from: 'proxy', to: key, ...flow(gateway) });
    let at = y + (tall - (deployments.length * (MODEL_HEIGHT + GAP) - GAP)) / 2;
    for (const deployment of deployments) {
      const model = `model ${deployment.id}`;
      boxes.push({
        key: model,
        part: { is: 'model', deployment },
        ...columns.model,
        y: at,
        height: MODEL_HEIGHT,
      });
      edges.push({ key: model, from: key, to: model, ...flow(deployment) });
      at += MODEL_HEIGHT + GAP;
    }
    y += tall + GROUP_GAP;
  }
  const height = Math.max(BOX_HEIGHT, y - GROUP_GAP);
  const middle = (height - BOX_HEIGHT) / 2;
  boxes.push(
    { key: 'callers', part: { is: 'callers' }, ...columns.callers, y: middle, height: BOX_HEIGHT },
    { key: 'proxy', part: { is: 'proxy' }, ...columns.proxy, y: middle, height: BOX_HEIGHT },
  );
  edges.push({ key: 'callers', from: 'callers', to: 'proxy', ...flow(chain.traffic) });
  const busiest = Math.max(1, ...edges.map(({ callsPerMinute }) => callsPerMinute));
  return {
    height,
    boxes,
    edges: edges.map((edge) => ({
      ...edge,
      path: pathOf(boxes, edge),
      width: widthOf(edge.callsPerMinute, busiest),
    })),
    left: chain.deployments_total - shown.size,
  };
}

type Column = Pick<Box, 'x' | 'width'>;

function columnsFor(width: number): Readonly<Record<'callers' | 'proxy' | 'gateway' | 'model', Column>> {
  const callers = 128;
  const proxy = Math.min(180, width * 0.19);
  const gateway = Math.min(260, width * 0.25);
  const model = Math.min(300, width * 0.27);
  const gap = (width - callers - proxy - gateway - model) / 3;
  return {
    callers: { x: 0, width: callers },
    proxy: { x: callers + gap, width: proxy },
    gateway: { x: callers + proxy + 2 * gap, width: gateway },
    model: { x: width - model, width: model },
  };
}

function flow(traffic: Traffic): Pick<Edge, 'callsPerMinute' | 'faultShare'> {
  return {
    callsPerMinute: traffic.calls_per_minute,
    faultShare: faultShare(traffic),
  };
}

/** By the square root, so that a tenth of the traffic is still seen. */
function widthOf(callsPerMinute: number, busiest: number): number {
  return THINNEST + Math.sqrt(callsPerMinute / busiest) * (WIDEST - THINNEST);
}

function pathOf(boxes: readonly Box[], { from, to }: Pick<Edge, 'from' | 'to'>): string {
  const start = boxes.find(({ key }) => key === from);
  const end = boxes.find(({ key }) => key === to);
  if (start === undefined || end === undefined) return '';
  const [x1, y1] = [start.x + start.width, start.y + start.height / 2];
  const [x2, y2] = [end.x, end.y + end.height / 2];
  const bend = (x2 - x1) / 2;
  return `M${x1},${y1}C${x1 + bend},${y1} ${x2 - bend},${y2} ${x2},${y2}`;
}
