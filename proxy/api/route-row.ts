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

/**
 * Bases of the calls that name their model in the path: where Google's SDKs look for models, with every version that they can
 * be set to, and LiteLLM's pass-through spelling. The first one is the usual one.
 */
export const MODEL_IN_PATH: readonly string[] = [
  '/v1beta',
  '/v1',
  '/v1alpha',
  '',
  '/gemini/v1beta',
  '/gemini/v1',
  '/gemini/v1alpha',
];
