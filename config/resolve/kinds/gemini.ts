// Google's Gemini API (ai.google.dev/api): the model stands in the path, `models/NAME:generateContent`.
import { USUAL, type Kind, type PathCheck } from './kind.ts';
import { VERSION } from './versions.ts';

export const geminiKind: Kind = Object.freeze({
  ...USUAL,
  name: 'gemini',
  serves: new Set(['gemini']),
  credentialHeader: 'x-goog-api-key',
  known: {
    base: 'https://generativelanguage.googleapis.com',
    baseVariables: ['GEMINI_API_BASE'],
    keyVariables: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    needsKey: true,
    hosts: null,
    version: null,
  },
  prefix: () => 'gemini',
  pathPrefix: (basePath: string): PathCheck => ({
    ok: true,
    // `/v1/publishers/google` of aiplatform.googleapis.com has its version in the middle.
    pathPrefix: VERSION.test(basePath) ? basePath : `${basePath}/v1beta`,
  }),
  rule: () => 'gemini/NAME',
});
