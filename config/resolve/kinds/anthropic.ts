// Anthropic's own API: messages and the count of their tokens (docs.anthropic.com/en/api). It answers 400 to a call that
// names no version of the API, and there is one version.
import { USUAL, type Kind } from './kind.ts';
import { withV1 } from './vendors.ts';

export const anthropicKind: Kind = Object.freeze({
  ...USUAL,
  name: 'anthropic',
  serves: new Set(['messages']),
  credentialHeader: 'x-api-key',
  // Tokens of a sign-in (`claude setup-token`), which LiteLLM sends so too (llms/anthropic/common_utils.py).
  bearerKeys: { begin: 'sk-ant-oat', header: ['anthropic-beta', 'oauth-2025-04-20'] as const },
  headers: [['anthropic-version', '2023-06-01'] as const],
  passedHeaders: ['anthropic-beta'], // members of the body are refused without the name of their feature
  known: {
    base: 'https://api.anthropic.com',
    baseVariables: ['ANTHROPIC_API_BASE', 'ANTHROPIC_BASE_URL'],
    keyVariables: ['ANTHROPIC_API_KEY'],
    needsKey: true,
    hosts: null,
    version: null,
  },
  prefix: () => 'anthropic',
  pathPrefix: withV1,
  rule: () => 'anthropic/NAME',
});
