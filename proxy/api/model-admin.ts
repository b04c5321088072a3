// `/model/new`, `/model/update`, `/model/delete`: deployments are validated exactly like the file, and the response
// says whether they survive a restart.
import { formatIssue } from '../../config/issue.ts';
import type { ConfigReloader, ModelChange } from '../active-config/config-reloader.ts';
import { Fault } from '../errors/fault.ts';
import { modelInfoItem } from '../active-config/listings.ts';
import { sendJson } from '../pipeline/respond.ts';
import type { Exchange } from '../pipeline/exchange.ts';
import { readObject } from './json-body.ts';

type Entry = Readonly<Record<string, unknown>>;

/** `POST /model/new` with `{model_name, litellm_params, model_info?}`. */
export async function newModel(x: Exchange, reloader: ConfigReloader): Promise<void> {
  sendChange(x, reloader, await stored(reloader.addModel(await readObject(x))), 'added');
}

/** `POST /model/update` with `{model_info: {id}, ...}`. */
export async function updateModel(x: Exchange, reloader: ConfigReloader): Promise<void> {
  const body = await readObject(x);
  const info = body['model_info'];
  const id = typeof info === 'object' && info !== null ? (info as Entry)['id'] : undefined;
  if (typeof id !== 'string')
    throw new Fault('invalid_model_entry', 'model_info.id must name the model to update.');
  sendChange(x, reloader, await stored(reloader.updateModel(id, body)), 'updated');
}

/** `POST /model/delete` with `{id}`. */
export async function deleteModel(x: Exchange, reloader: ConfigReloader): Promise<void> {
  const { id } = (await readObject(x)) as { readonly id?: unknown };
  if (typeof id !== 'string') throw new Fault('invalid_model_entry', '`id` must name the model to delete.');
  accepted(await stored(reloader.deleteModel(id)), id);
  sendJson(x, { message: `Model: ${id} deleted successfully` });
}

function sendChange(x: Exchange, reloader: ConfigReloader, change: ModelChange, what: string): void {
  const { id, persisted } = accepted(change, '');
  const deployment = reloader.active.deployments.get(id)?.config;
  if (deployment === undefined) throw new Error(`the model ${id} is missing after it was ${what}`);
  const message = persisted
    ? `${what}; stored, survives a restart`
    : `${what} in memory only: it is gone after a restart. Set general_settings.store_model_in_db to keep such models.`;
  sendJson(x, { model_id: id, ...(modelInfoItem(deployment) as Entry), persisted, message });
}

/** @throws Fault when the change was refused. */
function accepted(change: ModelChange, id: string): Extract<ModelChange, { ok: true }> {
  if (change.ok) return change;
  switch (change.reason) {
    case 'invalid': {
      const text = change.issues.map(formatIssue).join('; ');
      throw new Fault('invalid_model_entry', `The model entry is not valid: ${text}`);
    }
    case 'in_config':
      throw new Fault('model_in_config', 'This model is in the configuration file; edit the file instead.');
    case 'unknown':
      throw new Fault(
        'model_id_not_found',
        `Model with id=${id.slice(0, 100)} not found among runtime models.`,
      );
  }
}

async function stored(change: Promise<ModelChange>): Promise<ModelChange> {
  try {
    return await change;
  } catch (cause) {
    const why = cause instanceof Error && cause.name === 'StoreUnavailable' ? ` ${cause.message}` : '';
    throw new Fault('store_unavailable', `The change could not be stored; nothing was changed.${why}`, {
      cause,
    });
  }
}
