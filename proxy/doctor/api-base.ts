// A gateway that answers 404: tries the other usual spellings of its base, to be sure which one is right, and says what to
// write into api_base. Sends what costs nothing: the request of the list, and a call without a model, which none serves.
import { KINDS } from '../../config/resolve/kinds/table.ts';
import { isPage, objectOf, type Reply } from './ask.ts';
import type { Reporter } from './finding.ts';
import type { GatewayClient, GatewayLimits } from './gateway-group.ts';

const SOME_BYTES = 64 * 1024;
/** Bases of LiteLLM, vLLM, Bifrost, OpenRouter and TensorZero, Groq. */
const USUAL = ['/v1', '', '/openai/v1', '/api/v1', '/compat/v1'];

/** @returns whether the path of the entry is right after all: the gateway only has no list */
export async function findBase(
  client: GatewayClient,
  limits: GatewayLimits,
  { seen, place }: { readonly seen: string; readonly place: string | null },
  report: Reporter,
): Promise<boolean> {
  const { deployment } = client.group;
  const { origin, pathPrefix, kind: kindName } = deployment;
  const isChained = kindName === 'proxy' || kindName === 'compat'; // vendors stand where they stand
  if (!isChained || (await takesCalls(client, pathPrefix, limits))) {
    report.found('models', 'TL-1507', { seen });
    return true;
  }
  const stem = pathPrefix.replace(/(?:\/v1)+$/, '');
  const others = [...new Set([`${stem}/v1`, stem, ...USUAL])].filter((path) => path !== pathPrefix);
  const answers = await Promise.all(others.map((path) => listAnswers(client, path, limits)));
  const right = others.find((_, i) => answers[i] === true);
  const tried = [pathPrefix, ...others].map((path) => `${path}/models`).join(', ');
  if (right === undefined) {
    report.found('api_base', 'TL-1503', { place, seen: `${seen}; tried ${tried}: none answers` });
    return false;
  }
  const kind = KINDS.find(({ name }) => name === kindName);
  const rule =
    kindName === 'proxy'
      ? 'litellm_proxy/ appends /v1 to api_base'
      : 'openai/ takes api_base as it is, with /v1';
  const asProxy = right.endsWith('/v1') ? right.slice(0, -3) : null;
  const asIs = kind?.pathPrefix(right, '', new URL(origin).hostname).ok === true ? right : null;
  const base = kindName === 'proxy' ? asProxy : asIs;
  const fix =
    base === null
      ? `the API is at ${origin}${right}, which ${kindName === 'proxy' ? 'a litellm_proxy/ entry cannot reach' : 'has no /v1'}; have the gateway serve /v1`
      : `write api_base: ${origin}${base} (${rule})`;
  report.found('api_base', 'TL-1502', {
    place,
    seen: `${seen}; GET ${origin}${right}/models answers`,
    fix,
  });
  return false;
}

/** A list of models, or a refusal of the key: the path exists. */
async function listAnswers(client: GatewayClient, prefix: string, limits: GatewayLimits): Promise<boolean> {
  const asked = await client.ask(
    { method: 'GET', path: `${prefix}/models` },
    { ...limits, maxBytes: SOME_BYTES },
  );
  if (!asked.ok || isPage(asked.reply)) return false;
  const { status, text, truncated } = asked.reply;
  if (status === 401 || status === 403) return isJson(asked.reply);
  return status === 200 && (truncated || Array.isArray(objectOf(text)['data']));
}

/** A call without a model is refused by whoever takes calls; 404 and 405 say that there is no such path. */
async function takesCalls(client: GatewayClient, prefix: string, limits: GatewayLimits): Promise<boolean> {
  const asked = await client.ask(
    { method: 'POST', path: `${prefix}/chat/completions`, body: {} },
    { ...limits, maxBytes: SOME_BYTES },
  );
  if (!asked.ok || isPage(asked.reply)) return false;
  const { status } = asked.reply;
  return isJson(asked.reply) && [400, 401, 403, 422].includes(status);
}

const isJson = ({ headers }: Reply): boolean => /\bjson\b/i.test(headers.get('content-type') ?? '');
