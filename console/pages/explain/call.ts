// A call as it is typed here, and what the proxy says of it. Pure.
import { readHeaders } from '../../base/headers.ts';

/** Endpoints whose calls are JSON, each with a body that stands for it. */
export const SAMPLES = {
  'chat/completions': { messages: [{ role: 'user', content: 'Hi' }] },
  completions: { prompt: 'Hi' },
  embeddings: { input: 'Hi' },
  responses: { input: 'Hi' },
  messages: { max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] },
  rerank: { query: 'Hi', documents: ['Hello', 'Bye'] },
  moderations: { input: 'Hi' },
} as const;
export type EndpointName = keyof typeof SAMPLES;

export const isEndpoint = (name: string): name is EndpointName => Object.hasOwn(SAMPLES, name);

export const sampleOf = (endpoint: EndpointName): string => JSON.stringify(SAMPLES[endpoint], null, 2);

interface Decision {
  readonly name: string;
  readonly action: string;
  readonly rule: string;
}

export interface Explained {
  readonly error: null;
  readonly url: string;
  readonly deployment: { readonly id: string; readonly model_name: string; readonly api_base: string };
  readonly gateway: string;
  readonly model: string;
  readonly upstream_model: string;
  readonly session: { readonly id: string; readonly source: string };
  readonly forwards_client_headers: boolean;
  readonly headers: readonly Decision[];
  readonly query: readonly Decision[];
  readonly body: readonly { readonly member: string; readonly change: string; readonly why: string }[];
  readonly plan: readonly string[];
  readonly fallbacks: readonly string[];
  readonly warnings: readonly string[];
}

export interface Refused {
  readonly error: { readonly status: number; readonly code: string; readonly message: string };
}

interface Typed {
  readonly model: string;
  readonly endpoint: EndpointName;
  readonly headers: string;
  readonly body: string;
}

export type BodyIssue = 'no_json' | 'no_object';

/** The members of the body, or what is wrong with them. */
export function readBody(
  text: string,
):
  | { readonly members: Readonly<Record<string, unknown>> }
  | { readonly issue: BodyIssue; readonly detail: string } {
  if (text.trim() === '') return { members: {} };
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return { issue: 'no_object', detail: '' };
    return { members: { ...value } };
  } catch (error) {
    return { issue: 'no_json', detail: (error as Error).message };
  }
}

/** As `POST /explain` takes it; null = something typed is wrong. */
export function questionOf({ model, endpoint, headers, body }: Typed): Record<string, unknown> | null {
  const read = readHeaders(headers);
  const members = readBody(body);
  if ('issue' in read || 'issue' in members || model.trim() === '') return null;
  return { endpoint, headers: read.headers, body: { ...members.members, model: model.trim() } };
}
