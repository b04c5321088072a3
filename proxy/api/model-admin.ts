// `/model/new`, `/model/update`, `/model/delete`: deployments are validated exactly like the file, and the response
// says whether they survive a restart. Each attempt tells the audit what it is about.
import { RUNTIME_FILE } from '../../config/diagnostics.ts';
import type { Issue } from '../../config/issue.ts';
import type { ConfigReloader } from '../active-config/config-reloader.ts';
import type { ModelChange, Preview } from '../active-config/model-change.ts';
import { Fault } from '../errors/fault.ts';
import { modelInfoItem } from '../active-config/listings.ts';
import { sendJson } from '../pipeline/respond.ts';
import type { Exchange } from '../pipeline/exchange.ts';
import type { AdminAttempt } from './audit.ts';
import { readChange } from './json-body.ts';

type Entry = Readonly<Record<string, unknown>>;

/**
 * Beside those of an entry, and passed over: BerriAI's Terraform provider sends `additional`, LiteLLM's Python client the id a
 * second time, others what LiteLLM or we answered. What nobody sends is misspelt, or a limit in the wrong place.
 */
const PASSED_OVER: ReadonlySet<string> = new Set([
  'additional',
  'id',
  'model_id',
  'persisted',
  'message',
  'created_at',
  'created_by',
  'updated_at',
  'updated_by',
]);

/** Issues that one message lists; a body may hold thousands of mistakes. */
const MOST_ISSUES = 20;

/** `POST /model/new` with `{model_name, litellm_params, model_info?}`. */
export async function newModel(x: Exchange, reloader: ConfigReloader, attempt: AdminAttempt): Promise<void> {
  const body = await readEntry(x);
  attempt.concerns({ id: idIn(body), before: null, after: body });
  sendChange(x, reloader, accepted(await stored(reloader.addModel(body)), attempt), 'added');
}

/** `POST /model/update` with `{model_info: {id}, ...}`. */
export async function updateModel(
  x: Exchange,
  reloader: ConfigReloader,
  attempt: AdminAttempt,
): Promise<void> {
  const body = await readEntry(x);
  const id = idIn(body);
  attempt.concerns({ id, before: null, after: body });
  if (id === null)
    throw new Fault('invalid_model_entry', 'model_info.id is missing: it names the model to update.');
  sendChange(x, reloader, accepted(await stored(reloader.updateModel(id, body)), attempt), 'updated');
}

/** `PATCH /model/{id}/update`: the members that are sent take the place of those that were. */
export async function patchModel(
  x: Exchange,
  reloader: ConfigReloader,
  id: string,
  attempt: AdminAttempt,
): Promise<void> {
  const body = await readEntry(x);
  attempt.concerns({ id, before: null, after: body });
  if (idIn(body) !== null && idIn(body) !== id)
    throw new Fault('invalid_model_entry', 'model_info.id is another model than the one in the path.');
  sendChange(x, reloader, accepted(await stored(reloader.updateModel(id, body)), attempt), 'updated');
}

/** `POST /model/delete` with `{id}`. */
export async function deleteModel(
  x: Exchange,
  reloader: ConfigReloader,
  attempt: AdminAttempt,
): Promise<void> {
  const { id } = (await readChange(x)) as { readonly id?: unknown };
  if (typeof id !== 'string')
    throw new Fault('invalid_model_entry', '`id` is missing: it names the model to delete.');
  attempt.concerns({ id, before: null, after: null });
  accepted(await stored(reloader.deleteModel(id)), attempt);
  sendJson(x, { message: `Model: ${id} deleted successfully` });
}

async function readEntry(x: Exchange): Promise<Entry> {
  const body = await readChange(x);
  return Object.fromEntries(Object.entries(body).filter(([name]) => !PASSED_OVER.has(name)));
}

function idIn(body: Entry): string | null {
  const info = body['model_info'];
  const id = typeof info === 'object' && info !== null ? (info as Entry)['id'] : undefined;
  return typeof id === 'string' ? id : null;
}

type Accepted = Extract<ModelChange, { ok: true }>;

function sendChange(x: Exchange, reloader: ConfigReloader, { id, persisted }: Accepted, what: string): void {
  const deployment = reloader.active.deployments.get(id)?.config;
  if (deployment === undefined) throw new Error(`the model ${id} is missing after it was ${what}`);
  const message = persisted
    ? `${what}; stored, survives a restart`
    : `${what} in memory only: it is gone after a restart. Set general_settings.store_model_in_db to keep such models.`;
  sendJson(x, { model_id: id, ...(modelInfoItem(deployment) as Entry), persisted, message });
}

/** @throws Fault when the change was refused. */
function accepted(change: ModelChange, attempt: AdminAttempt): Accepted {
  attempt.concerns(change);
  if (change.ok) {
    attempt.applied(change.persisted);
    return change;
  }
  switch (change.reason) {
    case 'invalid':
      throw faultOf(change);
    case 'in_config':
      throw faultOf({ ok: false, reason: change.reason });
    case 'unknown':
      throw new Fault(
        'model_id_not_found',
        `Model with id=${change.id.slice(0, 100)} not found among runtime models.`,
      );
  }
}

/** Why an entry cannot be saved. */
export function faultOf(change: Exclude<Preview, { readonly ok: true }>): Fault {
  if (change.reason === 'invalid') return new Fault('invalid_model_entry', refusal(change.issues));
  return new Fault('model_in_config', 'This model is in the configuration file; edit the file instead.');
}

/** What is wrong with the entry, and nothing else of the configuration: its files are the operator's. */
function refusal(issues: readonly Issue[]): string {
  const own = issues.filter(({ file }) => file === RUNTIME_FILE.name);
  const errors = own.filter(({ severity }) => severity === 'error');
  const causes = errors.length > 0 ? errors : own;
  if (causes.length === 0)
    return 'The configuration file itself has become invalid, so no model can be changed: its issues are printed by `throughline check`.';
  const shown = causes.slice(0, MOST_ISSUES).map(({ path, message, fix }) => {
    const where = path === '' ? 'The entry' : path;
    // Examples of the schema are for files, and entries of this API may not refer to the environment.
    const how = fix
      .replaceAll(/os\.environ\/\w+/g, 'sk-...')
      .replace(/^write its keys below it, .*: (\w+): \.\.\.$/, 'send an object with $1')
      .replace(/^write (?:each entry below it|it as a list), .*$/, 'send a list');
    return `${where}: ${message}${how === '' ? '' : ` - ${how}`}`;
  });
  const left = causes.length - shown.length;
  return left > 0 ? `${shown.join('; ')}; and ${left} more` : shown.join('; ');
}

async function stored(change: Promise<ModelChange>): Promise<ModelChange> {
  try {
    return await change;
  } catch (cause) {
    if (cause instanceof RangeError)
      throw new Fault('invalid_model_entry', 'The entry is nested too deeply.');
    const why = cause instanceof Error && cause.name === 'StoreUnavailable' ? ` ${cause.message}` : '';
    throw new Fault('store_unavailable', `The change could not be stored; nothing was changed.${why}`, {
      cause,
    });
  }
}
