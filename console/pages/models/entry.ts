// A model_list entry as the form edits it: what is wrong with it while somebody types, where its calls would go, and the
// entry as JSON, YAML and Helm values. Pure. The proxy checks everything again.
import { readHeaders } from '../../base/headers.ts';

export interface ModelItem {
  readonly model_name: string;
  readonly litellm_params: Readonly<Record<string, unknown>> & {
    readonly model?: string;
    readonly api_base?: string;
  };
  readonly model_info: Readonly<Record<string, unknown>> & {
    readonly id: string;
    readonly db_model?: boolean;
    readonly disabled?: boolean;
    readonly disabled_reason?: string;
  };
}

/** What stands behind an entry. `custom`: an OpenAI-compatible gateway that wants headers of its own. */
export const PROVIDERS = ['litellm_proxy', 'openai', 'custom'] as const;
/** `other`: the prefix of an entry that was not made here; it stays. */
export type Provider = (typeof PROVIDERS)[number] | 'other';

/** Whether headers of clients are forwarded. `inherited`: the entry does not say; `general_settings` or its group decide. */
export const FORWARDS = ['inherited', 'yes', 'no'] as const;
export type Forwards = (typeof FORWARDS)[number];
const STATED = { inherited: null, yes: true, no: false } as const;

export interface Draft {
  readonly id: string | null;
  readonly name: string;
  readonly provider: Provider;
  /** Of `other`: `anthropic`; '' = the model is written without one. */
  readonly prefix: string;
  readonly model: string;
  readonly apiBase: string;
  readonly apiKey: string;
  /** JSON as typed; see `headersOf`. */
  readonly headers: string;
  readonly forwards: Forwards;
}

export const EMPTY: Draft = {
  id: null,
  name: '',
  provider: 'litellm_proxy',
  prefix: '',
  model: '',
  apiBase: '',
  apiKey: '',
  headers: '',
  forwards: 'inherited',
};

/** As it is written in `litellm_params.model`. */
export function modelOf({ provider, prefix, model }: Draft): string {
  if (provider === 'other') return prefix === '' ? model.trim() : `${prefix}/${model.trim()}`;
  return `${provider === 'litellm_proxy' ? 'litellm_proxy' : 'openai'}/${model.trim()}`;
}

export type BaseIssue = 'missing' | 'no_url' | 'has_v1' | 'lacks_v1';

/** What is wrong with an api_base, and the one that was meant. */
export function checkBase(
  provider: Provider,
  text: string,
): { readonly issue: BaseIssue; readonly fixed: string | null } | null {
  const base = text.trim();
  if (base === '' && provider === 'other') return null; // vendors have an address of their own
  if (base === '') return { issue: 'missing', fixed: null };
  if (!URL.canParse(base) || !/^https?:\/\//i.test(base)) {
    const meant = `https://${base}`;
    return { issue: 'no_url', fixed: !base.includes('://') && URL.canParse(meant) ? meant : null };
  }
  if (provider === 'other') return null;
  const trimmed = base.replace(/\/+$/, '');
  if (provider === 'litellm_proxy') {
    return trimmed.endsWith('/v1') ? { issue: 'has_v1', fixed: trimmed.replace(/(\/+v1)+$/, '') } : null;
  }
  return /\/v1[a-z0-9]*(\/|$)/.test(new URL(trimmed).pathname)
    ? null
    : { issue: 'lacks_v1', fixed: `${trimmed}/v1` };
}

/** Of an entry that is changed, null takes the address away: what is not sent stays as it was. */
function baseOf({ id, apiBase }: Draft): { readonly api_base?: string | null } {
  const base = apiBase.trim();
  if (base !== '') return { api_base: base };
  return id === null ? {} : { api_base: null };
}

/**
 * The headers of its own that the entry has, or what is wrong with them. Only `custom` shows a field for them: what was typed
 * there before another provider was chosen neither counts nor hinders.
 */
export function headersOf({ provider, headers }: Draft): ReturnType<typeof readHeaders> {
  return readHeaders(provider === 'custom' ? headers : '');
}

/** As `POST /model/new` and `/model/update` take it. An empty key is left as it was. @param before the draft as it was opened */
export function bodyOf(draft: Draft, before: Draft): Record<string, unknown> {
  const read = headersOf(draft);
  const headers = 'headers' in read ? read.headers : {};
  return {
    model_name: draft.name.trim(),
    litellm_params: {
      model: modelOf(draft),
      ...baseOf(draft),
      ...(draft.apiKey === '' ? {} : { api_key: draft.apiKey }),
      ...(Object.keys(headers).length === 0 ? {} : { extra_headers: headers }),
      ...(draft.forwards === before.forwards
        ? {}
        : { forward_client_headers_to_llm_api: STATED[draft.forwards] }),
    },
    ...(draft.id === null ? {} : { model_info: { id: draft.id } }),
  };
}

/** An entry that is served, as the form shows it. Its key and its headers are secrets: they are not there to be read. */
export function draftOf({ model_name: name, litellm_params: params, model_info: { id } }: ModelItem): Draft {
  const model = params.model ?? '';
  const slash = model.indexOf('/');
  const prefix = model.slice(0, Math.max(0, slash));
  return {
    ...EMPTY,
    id,
    name,
    provider: prefix === 'litellm_proxy' || prefix === 'openai' ? prefix : 'other',
    prefix,
    model: model.slice(slash + 1),
    apiBase: params.api_base ?? '',
    forwards:
      FORWARDS.find((one) => STATED[one] === params['forward_client_headers_to_llm_api']) ?? 'inherited',
  };
}

const scalar = (value: unknown): string =>
  typeof value === 'string' ? JSON.stringify(value) : String(value);

/** The entry as lines of YAML; the key as a reference, since nobody can read it back. */
export function yamlOf({ model_name: name, litellm_params: params }: ModelItem, indent = ''): string {
  const shown = Object.entries(params).filter(
    ([key, value]) =>
      key !== 'api_key' && key !== 'extra_headers' && ['string', 'number', 'boolean'].includes(typeof value),
  );
  const variable = `${name.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_')}_KEY`;
  const headers =
    typeof params['extra_headers'] === 'object' && params['extra_headers'] !== null
      ? Object.keys(params['extra_headers'])
      : [];
  const lines = [
    `- model_name: ${scalar(name)}`,
    '  litellm_params:',
    ...shown.map(([key, value]) => `    ${key}: ${scalar(value)}`),
    `    api_key: os.environ/${variable}`,
    ...(headers.length === 0 ? [] : ['    extra_headers:', ...headers.map((one) => `      ${one}: "..."`)]),
  ];
  return lines.map((line) => `${indent}${line}`).join('\n');
}

export function fileYaml(item: ModelItem): string {
  return `model_list:\n${yamlOf(item, '  ')}\n`;
}

/** Under the member of the chart's values that holds the configuration. */
export function helmYaml(item: ModelItem): string {
  return `proxy_config:\n  model_list:\n${yamlOf(item, '    ')}\n`;
}
