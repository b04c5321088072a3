// `GET /routes`: every route with its methods, for clients that ask what there is.
import { sendJson } from '../pipeline/respond.ts';
import type { Exchange } from '../pipeline/exchange.ts';
import type { RouteRow } from './route-row.ts';

/** In the dialect's shape. */
export function routeList(x: Exchange, rows: readonly RouteRow[]): void {
  const byPath = Map.groupBy(rows, ({ path }) => path);
  const routes = [...byPath].map(([path, own]) => {
    const name = nameOf(path);
    return { path, methods: own.map(({ method }) => method), name, endpoint: name };
  });
  sendJson(x, { routes });
}

/** Python names its handlers; ours are named by their paths. */
const nameOf = (path: string): string => path.replaceAll(/\W+/g, '_').replaceAll(/^_+|_+$/g, '') || 'index';
