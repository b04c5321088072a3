// Model listings. They read memory only: platforms rotate their keys when these return 401 or 403, so a failure of the
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
export function modelInfo(x: Exchange): void {
  const { snapshot } = x.active;
  const id = new URLSearchParams(x.query).get(`${snapshot.dialect.brand}_model_id`);
  if (id === null) {
    sendBytes(x, JSON_TYPE, x.active.listings.modelInfo);
    return;
  }
  const deployment = x.active.deployments.get(id)?.config;
  const disabled = snapshot.disabled.find((model) => model.id === id);
  if (deployment !== undefined) sendJson(x, { data: [modelInfoItem(deployment)] });
  else if (disabled !== undefined) sendJson(x, { data: [disabledModelItem(disabled)] });
  else throw new Fault('invalid_parameter', `Model id = ${id.slice(0, 100)} not found.`);
}
