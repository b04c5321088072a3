// Proxy-type upstreams: another LiteLLM-style proxy. Their api_base is the root. The proxy appends /v1; an api_base that
// already has it would give /v1/v1 (404 on most gateways).
import type { Dialect } from '../../dialect.ts';
import { NOWHERE, USUAL, type Kind, type PathCheck } from './kind.ts';

export const proxyKind: Kind = Object.freeze({
  ...USUAL,
  name: 'proxy',
  stripsControlMembers: false,
  known: {
    ...NOWHERE,
    baseVariables: ['LITELLM_PROXY_API_BASE'],
    keyVariables: ['LITELLM_PROXY_API_KEY'],
  },
  prefix: (dialect: Dialect): string => dialect.proxyPrefix,
  pathPrefix(basePath: string): PathCheck {
    if (!basePath.endsWith('/v1')) return { ok: true, pathPrefix: `${basePath}/v1` };
    const fixedPath = basePath.replace(/(\/+v1)+$/, '');
    return {
      ok: false,
      message: 'must not end in /v1 for a proxy-type model; the proxy adds it',
      fixedPath,
      asWritten: basePath,
    };
  },
  rule: (dialect: Dialect): string => `${dialect.proxyPrefix}/NAME (proxy-type, api_base without /v1)`,
});
