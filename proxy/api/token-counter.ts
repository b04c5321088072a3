// `POST /utils/token_counter`: how many tokens a prompt has, counted here with an open vocabulary. Nothing goes upstream.
import type { AuthenticatedCaller } from '../access/caller.ts';
import { Fault } from '../errors/fault.ts';
import { sendJson } from '../pipeline/respond.ts';
import type { Exchange } from '../pipeline/exchange.ts';
import { servedGroup } from '../pipeline/select-deployment.ts';
import { chat } from '../protocols/chat.ts';
import { readObject } from './json-body.ts';

/** With `{model, prompt | messages | contents, tools?, system?}`. */
export async function tokenCounter(x: Exchange, caller: AuthenticatedCaller): Promise<void> {
  const { model, prompt, messages, contents, tools, system } = await readObject(x, 'prompt');
  if (typeof model !== 'string' || model === '')
    throw new Fault('missing_model', 'The request names no model.', { param: 'model' });
  const said = [prompt, messages, contents].filter((one) => one !== undefined && one !== null);
  if (said.length === 0)
    throw new Fault('missing_parameter', 'prompt or messages or contents must be provided', {
      param: 'messages',
    });
  const counted = {
    messages: [messages, contents].flatMap((one) => (Array.isArray(one) ? one : [])),
    ...(typeof prompt === 'string' ? { prompt } : {}),
    ...(tools === undefined || tools === null ? {} : { tools }),
    ...(system === undefined || system === null ? {} : { system }),
  };
  const request = Buffer.from(JSON.stringify(counted));
  const estimate = await x.active.services.estimator.estimate({ protocol: chat, request, answer: null });
  sendJson(x, {
    total_tokens: estimate.prompt,
    request_model: model,
    model_used: upstreamModelOf(x, caller, model) ?? model,
    tokenizer_type: 'openai_tokenizer',
    count_source: 'local_estimate',
    original_response: null,
    error: false,
    error_message: null,
    status_code: null,
  });
}

/** What a name stands for is told to those who may call it; null = it is not served, or not for this caller. */
function upstreamModelOf({ active }: Exchange, caller: AuthenticatedCaller, model: string): string | null {
  const target = active.snapshot.routing.aliases.get(model) ?? model;
  const models = active.modelAccess.of(caller);
  if (!models.allows(model, target)) return null;
  const group = servedGroup(active, model, models);
  const first = group?.deployments[0];
  return group === null || first === undefined ? null : group.select(first).upstreamModel;
}
