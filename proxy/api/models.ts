// Model listings. They wait for no database: platforms rotate their keys when these return 401 or 403, so a failure of the
// proxy must never look like one.
import { Fault } from '../errors/fault.ts';
import type { AuthenticatedCaller } from '../access/caller.ts';
import { disabledModelItem, modelInfoItem, modelItem } from '../active-config/listings.ts';
import { sendAnthropicModels, sendCodexModels } from './model-lists.ts';
import { isListedFor, modelListOf } from '../pipeline/models-of-caller.ts';
import { sendBytes, sendJson } from '../pipeline/respond.ts';
import type { Exchange } from '../pipeline/exchange.ts';

const JSON_TYPE = 'application/json';

/** `GET /v1/models`, `/models`: what the caller may call. */
export function listModels(x: Exchange, caller: AuthenticatedCaller): void {
  const query = new URLSearchParams(x.query);
  const isOnly = isTrue(query.get('only_model_access_groups'));
  const groups = { isOnly, areIncluded: isOnly || isTrue(query.get('include_model_access_groups')) };
  if (x.req.header('anthropic-version') !== null) return sendAnthropicModels(x, caller);
  const list = modelListOf(x.active, caller, groups);
  if (query.has('client_version')) sendCodexModels(x, list);
  else sendBytes(x, JSON_TYPE, list);
}

const isTrue = (value: string | null): boolean => /^(?:true|1)$/i.test(value ?? '');

/** `GET /v1/models/{id}`; ids may hold slashes. */
export function oneModel(x: Exchange, caller: AuthenticatedCaller, id: string): void {
  if (!isListedFor(x.active, caller, id))
    throw new Fault('model_not_found', `The model \`${id.slice(0, 100)}\` does not exist on this proxy.`);
  sendJson(x, modelItem(id));
}

/** `GET /model/info`, `/v1/model/info`; `?litellm_model_id=` selects one. */
export async function modelInfo(x: Exchange, caller: AuthenticatedCaller): Promise<void> {
  const { snapshot, deployments, services, modelAccess } = x.active;
  const models = modelAccess.of(caller);
  const id = new URLSearchParams(x.query).get(`${snapshot.dialect.brand}_model_id`);
  const isWanted = (one: { readonly id: string }): boolean => id === null || one.id === id;
  const served = [...deployments.values()].filter(
    ({ config }) => isWanted(config) && models.allows(config.group),
  );
  const disabled = snapshot.disabled.filter((one) => isWanted(one) && models.allows(one.group));
  if (id !== null && served.length + disabled.length === 0)
    throw new Fault('invalid_parameter', `Model id = ${id.slice(0, 100)} not found.`);
  await services.gatewayFacts.refresh(deployments.values()); // at most two seconds, every five minutes
  sendJson(x, {
    data: [
      ...served.map(({ config }) => modelInfoItem(config, services.gatewayFacts.of(config))),
      ...disabled.map(disabledModelItem),
    ],
  });
}
