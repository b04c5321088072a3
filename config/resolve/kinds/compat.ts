// Compat-type upstreams: anything with an OpenAI-compatible API, OpenAI's own among them. Their api_base contains the whole
// path with /v1, because such services use different paths (/openai/v1, /v1beta/openai, /api/paas/v4).
import type { Dialect } from '../../dialect.ts';
import { bareVendorOf } from './bare-names.ts';
import { USUAL, type Kind, type PathCheck } from './kind.ts';
import { isWhole } from './versions.ts';

export const compatKind: Kind = Object.freeze({
  ...USUAL,
  name: 'compat',
  known: {
    base: 'https://api.openai.com/v1',
    isFor: (upstream: string) => upstream.includes('*') || bareVendorOf(upstream) === 'openai',
    baseVariables: ['OPENAI_BASE_URL', 'OPENAI_API_BASE'],
    keyVariables: ['OPENAI_API_KEY'],
    needsKey: true,
    hosts: null,
    version: null,
  },
  prefix: (dialect: Dialect): string => dialect.compatPrefix,
  pathPrefix(basePath: string, _version: string, host: string): PathCheck {
    if (isWhole(host, basePath)) return { ok: true, pathPrefix: basePath };
    const message = 'must include /v1 for a compat-type model; endpoints are appended to it as it is';
    return { ok: false, message, fixedPath: `${basePath}/v1`, asWritten: basePath };
  },
  rule: (dialect: Dialect): string => `${dialect.compatPrefix}/NAME (compat-type, api_base with /v1)`,
});
