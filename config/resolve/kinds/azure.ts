// Azure OpenAI: a deployment stands in the path and the version of the API in the query; the version `v1` has neither
// (learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle).
import { USUAL, type Kind, type PathCheck } from './kind.ts';

/** Versions that LiteLLM sends to the second generation of the API. */
const SECOND = new Set(['v1', 'latest', 'preview']);

export const azureKind: Kind = Object.freeze({
  ...USUAL,
  name: 'azure',
  serves: new Set(['chat', 'completions', 'embeddings', 'responses', 'images', 'audio']),
  credentialHeader: 'api-key',
  known: {
    base: null,
    baseVariables: ['AZURE_API_BASE'],
    keyVariables: ['AZURE_API_KEY', 'AZURE_OPENAI_API_KEY'],
    needsKey: true,
    hosts: /\.azure\.com$/,
    // LiteLLM's. The first one came before responses.
    version: { variable: 'AZURE_API_VERSION', value: '2025-02-01-preview', forResponses: 'preview' },
  },
  prefix: () => 'azure',
  pathPrefix(basePath: string, version: string): PathCheck {
    if (basePath.endsWith('/openai/v1')) return { ok: true, pathPrefix: basePath };
    const deployment = /\/openai(?:\/deployments(?:\/[^/]*)?)?$/.exec(basePath)?.[0];
    if (deployment !== undefined) {
      const message =
        'is the address of the resource alone for azure/; the proxy adds /openai and the deployment';
      return { ok: false, message, fixedPath: basePath.slice(0, -deployment.length) };
    }
    if (SECOND.has(version)) {
      const query = version === 'preview' ? 'api-version=preview' : '';
      return { ok: true, pathPrefix: `${basePath}/openai/v1`, query };
    }
    return {
      ok: true,
      pathPrefix: `${basePath}/openai`,
      query: `api-version=${encodeURIComponent(version)}`,
      modelInPath: true,
    };
  },
  rule: () => 'azure/DEPLOYMENT (api_base: the address of the resource)',
});
