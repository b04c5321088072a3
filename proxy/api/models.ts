// Model listings. They wait for no database: platforms rotate their keys when these return 401 or 403, so a failure of the
// proxy must never look like one.
import { Fault } from '../errors/fault.ts';
import { disabledModelItem, modelInfoItem, modelItem, modelNames } from '../active-config/listings.ts';
import { sendBytes, sendJson } from '../pipeline/respond.ts';
import type { Exchange } from '../pipeline/exchange.ts';

const JSON_TYPE = 'application/json';

/** `GET /v1/models`, `/models`. */
export function listModels(x: Exchange): void {
  sendBytes(x, JSON_TYPE, x.active.listings.models);
}

/** `GET /v1/models/{id}`; ids may hold slashes. */
export function oneModel(x: Exchange, id: string): void {
  const { snapshot } = x.active;
  const known = x.active.groups.has(id) || modelNames(snapshot, x.active.listings.registry).includes(id);
  if (!known)
    throw new Fault('model_not_found', `The model \`${id.slice(0, 100)}\` does not exist on this proxy.`);
  sendJson(x, modelItem(id));
}

/** `GET /model/info`, `/v1/model/info`; `?litellm_model_id=` selects one. */
export async function modelInfo(x: Exchange): Promise<void> {
  const { snapshot, deployments, services } = x.active;
  const id = new URLSearchParams(x.query).get(`${snapshot.dialect.brand}_model_id`);
  const isWanted = (one: { readonly id: string }): boolean => id === null || one.id === id;
  const served = [...deployments.values()].filter(({ config }) => isWanted(config));
  const disabled = snapshot.disabled.filter(isWanted);
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
