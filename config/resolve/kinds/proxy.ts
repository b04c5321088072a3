// Proxy-type upstreams: another proxy of the dialect. Its api_base is the root; /v1 is ours to add, and written
// twice it would make /v1/v1 (404 on most gateways).
import type { Dialect } from '../../dialect.ts';
import type { Kind, PathCheck } from './kind.ts';

export const proxyKind: Kind = Object.freeze({
  name: 'proxy',
  stripsControlMembers: false,
  prefix: (dialect: Dialect): string => dialect.proxyPrefix,
  pathPrefix(basePath: string): PathCheck {
    if (!basePath.endsWith('/v1')) return { ok: true, pathPrefix: `${basePath}/v1` };
    const fixedPath = basePath.replace(/(\/+v1)+$/, '');
    return {
      ok: false,
      message: 'must not end in /v1 for a proxy-type model; the proxy adds it',
      fixedPath,
    };
  },
  rule: (dialect: Dialect): string => `${dialect.proxyPrefix}/NAME (proxy-type, api_base without /v1)`,
});
