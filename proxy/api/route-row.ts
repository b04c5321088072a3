// A row of the route table, for those who look at all of them: the description of the API, and tests.
import type { Access } from '../access/permissions.ts';

/** Where a route is served when metrics and administration have a port of their own. */
export type Port = 'main' | 'admin' | 'both';

export interface RouteRow {
  readonly method: string;
  /** With `{param}` where a name or an id stands. */
  readonly path: string;
  readonly access: Access;
  readonly port: Port;
}
