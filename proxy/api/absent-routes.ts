// What LiteLLM has at paths that are not here, and what there is instead: Terraform's providers show the text of a refusal to
// whoever wrote the resource.
import type { Exchange } from '../pipeline/exchange.ts';
import { gemini } from '../protocols/gemini.ts';
import { messages } from '../protocols/messages.ts';
import type { ErrorShape } from '../protocols/protocol.ts';
import { isAnthropics } from './model-lists.ts';

const FILE = 'the configuration file';
const PRICES = 'Prices come with the program, or stand in the model_info of an entry.';

const INSTEAD: readonly (readonly [base: string, said: string])[] = [
  ['/credentials', `Keys of providers stand in each model_list entry, or in credential_list of ${FILE}.`],
  ['/fallback', `Fallbacks stand in ${FILE}.`],
  ['/router', `The router's settings stand in ${FILE}.`],
  ['/config', `Settings stand in ${FILE}; POST /config/reload reads it again.`],
  ['/guardrails', 'There are no guardrails here; the gateway behind this proxy may have some.'],
  ['/policies', 'There are no guardrails here; the gateway behind this proxy may have some.'],
  ['/project', 'There are no projects here; teams and organizations have budgets, limits and models.'],
  ['/access_group', 'Access groups are made by POST /access_group/new.'],
  ['/unified_access_group', 'Access groups are made by POST /access_group/new.'],
  ['/provider/budgets', 'GET /spend/budgets has the budgets of providers among the others.'],
  ['/cost/estimate', 'POST /spend/calculate says what a call costs.'],
  ['/global/spend/reset', 'Spend is never reset for all; POST /key/{key}/reset_spend sets that of a key.'],
  ['/invitation', 'Nobody is invited by e-mail; POST /user/new makes a user.'],
  ['/jwt', 'Tokens of others are no keys here; POST /key/generate makes one.'],
  ['/jwt_client', 'Tokens of others are no keys here; POST /key/generate makes one.'],
  ['/agents', 'There are no agents here; keys, teams and conversations have budgets and limits.'],
  [
    '/health/services',
    `Channels of alerts stand in ${FILE}, in the section alerts; GET /alerts says what was delivered.`,
  ],
  ['/reload/model_cost_map', PRICES],
  ['/schedule/model_cost_map_reload', PRICES],
  ['/team/bulk_member_add', 'POST /team/member_add takes a list.'],
  ['/user/bulk_update', 'Send POST /user/update for each.'],
  ['/key/bulk_update', 'Send POST /key/update for each.'],
];

// google-genai's embed_content; the path is also that of a model in the list, so the refusal is a 405.
const GEMINI_ACTION = /\/models\/[^:]+:[a-zA-Z]+$/;
const MODELS = /^(?:\/v1)?\/models(?:\/|$)/;
const GEMINI_EMBEDDINGS = /:(embedContent|batchEmbedContents)$/;

/**
 * Where Gemini's API has something that is not here, its clients read the refusal as they read others; so do Anthropic's of the
 * models. Default: OpenAI's.
 */
export function errorsAt({ path, req }: Pick<Exchange, 'path' | 'req'>): ErrorShape | undefined {
  if (GEMINI_ACTION.test(path)) return gemini.errors;
  return MODELS.test(path) && isAnthropics({ req }) ? messages.errors : undefined;
}

/** A sentence about a path that is not here; '' = nothing is known of it. */
export function insteadOf(path: string): string {
  if (GEMINI_EMBEDDINGS.test(path)) return ' Embeddings are served at POST /v1/embeddings alone.';
  const bare = path.replace(/^\/v\d\//, '/');
  const found = INSTEAD.find(([base]) => bare === base || bare.startsWith(`${base}/`));
  return found === undefined ? '' : ` ${found[1]}`;
}
