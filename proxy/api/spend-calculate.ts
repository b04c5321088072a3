// `POST /spend/calculate`: what a call would cost or has cost, by the prices that its row would be charged by. Calls no
// gateway and records nothing.
import { identifierIn, isObject, type Json } from '../bodies/json.ts';
import { Fault } from '../errors/fault.ts';
import { dollarsOf, type PriceSources } from '../spend/record/cost.ts';
import { priceOf, type Priceable } from '../spend/record/reprice.ts';
import { sendJson } from '../pipeline/respond.ts';
import { pricesFor } from '../pipeline/charge.ts';
import type { Exchange } from '../pipeline/exchange.ts';
import { servedGroup } from '../pipeline/select-deployment.ts';
import { chat } from '../protocols/chat.ts';
import { tierIn } from '../protocols/service-tier.ts';
import { toolUnitsIn } from '../protocols/tool-uses.ts';
import { NO_TOKENS, readTokens, readUnits } from '../protocols/usage.ts';
import { readObject } from './json-body.ts';

/** With `{model, messages}` or `{completion_response}`, as the dialect has it. */
export async function spendCalculate(x: Exchange): Promise<void> {
  const body = await readObject(x, 'prompt');
  const response = body['completion_response'] ?? null;
  const { used, estimatedBy, named } = response === null ? await asked(x, body) : answered(body, response);
  const { model, prices } = pricesOf(x, named);
  const cost = priceOf({ ...used, model }, null, prices);
  if (cost.spendPico === null) throw wrong('model', `The cost is not known: ${cost.costReason}.`);
  sendJson(x, {
    cost: dollarsOf(cost.spendPico),
    cost_source: cost.costSource,
    price_version: cost.priceVersion,
    usage_source: used.usageSource,
    estimated_by: estimatedBy,
    prompt_tokens: used.tokens.prompt ?? 0,
    completion_tokens: used.tokens.completion ?? 0,
  });
}

interface Calculable {
  readonly used: Omit<Priceable, 'model'>;
  readonly estimatedBy: string | null;
  /** The model as it was named. */
  readonly named: string;
}

/** A call before it is made: its prompt, counted. */
async function asked(x: Exchange, body: Json): Promise<Calculable> {
  const { model, messages } = body as { readonly model?: unknown; readonly messages?: unknown };
  if (model === undefined || model === null)
    throw wrong('model', 'Either `model` with `messages`, or `completion_response` must be given.');
  if (typeof model !== 'string') throw wrong('model', '`model` must be a text.');
  if (!Array.isArray(messages)) throw wrong('messages', '`messages` must be given with `model`, as a list.');
  const request = Buffer.from(JSON.stringify({ model, messages }));
  const { estimator } = x.active.services;
  const { prompt, by } = await estimator.estimate({ protocol: chat, request, answer: null });
  const tokens = { ...NO_TOKENS, prompt, completion: 0, total: prompt };
  const rest = { endReason: 'complete', usage: null, units: null, serviceTier: null } as const;
  return { used: { ...rest, tokens, usageSource: 'estimate' }, estimatedBy: by, named: model };
}

/** A call that was made: what its response states. */
function answered(body: Json, response: unknown): Calculable {
  const completion = objectIn(response, 'completion_response', '`completion_response` must be an object.');
  const named = body['model'] ?? completion['model'];
  if (typeof named !== 'string') throw wrong('completion_response', 'The response names no `model`.');
  const usage = objectIn(completion['usage'], 'completion_response', 'The response has no `usage` to price.');
  const units = { ...toolUnitsIn(completion), ...readUnits(usage) };
  const used = {
    endReason: 'complete',
    usage,
    usageSource: 'upstream',
    tokens: readTokens(usage).tokens,
    units: Object.keys(units).length === 0 ? null : units,
    serviceTier: identifierIn(completion, 'service_tier') ?? tierIn(usage),
  } as const;
  return { used, estimatedBy: null, named };
}

/** Those of the first deployment of the name; a name without deployments may still be in the catalogue. */
function pricesOf(x: Exchange, named: string): { readonly model: string; readonly prices: PriceSources } {
  const group = servedGroup(x.active, named);
  const [deployment] = group?.deployments ?? [];
  if (group === null || deployment === undefined) {
    const catalogue = x.active.services.catalogue.lookUp(named)?.prices ?? null;
    return { model: named, prices: { deployment: null, catalogue } };
  }
  const selected = group.select(deployment);
  return { model: selected.upstreamModel, prices: pricesFor(x, selected) };
}

function objectIn(value: unknown, param: string, message: string): Json {
  if (isObject(value)) return value;
  throw wrong(param, message);
}

function wrong(param: string, message: string): Fault {
  return new Fault('invalid_parameter', message, { param });
}
