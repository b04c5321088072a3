// Model listings. They wait for no database: platforms rotate their keys when these return 401 or 403, so a failure of the
// proxy must never look like one.
import { Fault } from '../errors/fault.ts';
import type { AuthenticatedCaller } from '../access/caller.ts';
import { serves, wouldServe } from '../access/team-deployments.ts';
import type { LiveDeployment } from '../active-config/active-config.ts';
import { disabledModelItem, modelInfoItem, modelItem } from '../active-config/listings.ts';
import { chaosNames, isChaosListedFor } from '../pipeline/chaos-call.ts';
import { isListedFor, modelListOf, modelListWith } from '../pipeline/models-of-caller.ts';
import { isOfOtherTeams } from '../pipeline/select-deployment.ts';
import { compare } from './access/order.ts';
import { pageOf } from './access/query.ts';
import { anthropicModel, isAnthropics, sendAnthropicModels, sendCodexModels } from './model-lists.ts';
import { sendBytes, sendJson } from '../pipeline/respond.ts';
import { whole, wrong } from './spend-query.ts';
import type { Exchange } from '../pipeline/exchange.ts';

const JSON_TYPE = 'application/json';

/** `GET /v1/models`, `/models`: what the caller may call. */
export function listModels(x: Exchange, caller: AuthenticatedCaller): void {
  const query = new URLSearchParams(x.query);
  const isOnly = isTrue(query.get('only_model_access_groups'));
  const groups = { isOnly, areIncluded: isOnly || isTrue(query.get('include_model_access_groups')) };
  if (isAnthropics(x)) return sendAnthropicModels(x, caller);
  const listing = isTrue(query.get('include_chaos'))
    ? modelListWith(x.active, caller, (names) => chaosNames(x.active, caller, names))
    : modelListOf(x.active, caller, groups);
  if (query.has('client_version')) sendCodexModels(x, listing);
  else if (isTrue(query.get('include_metadata'))) sendJson(x, withMetadata(x, caller, listing, query));
  else sendBytes(x, JSON_TYPE, listing);
}

const isTrue = (value: string | null): boolean => /^(?:true|1)$/i.test(value ?? '');

/** `GET /v1/models/{id}`; ids may hold slashes. */
export function oneModel(x: Exchange, caller: AuthenticatedCaller, id: string): void {
  if (!isListedFor(x.active, caller, id) && !isChaosListedFor(x.active, caller, id))
    throw new Fault('model_not_found', `The model \`${id.slice(0, 100)}\` does not exist on this proxy.`);
  sendJson(x, isAnthropics(x) ? anthropicModel(id) : modelItem(id));
}

/** The names of a listing with their fallbacks, `?include_metadata=true&fallback_type=general`. @throws Fault invalid_parameter */
function withMetadata(
  { active }: Exchange,
  caller: AuthenticatedCaller,
  listing: Buffer,
  query: URLSearchParams,
): object {
  const type = query.get('fallback_type') || 'general';
  const { routing } = active.snapshot;
  const lists = {
    general: routing.fallbacks,
    context_window: routing.contextWindowFallbacks,
    content_policy: routing.contentPolicyFallbacks,
  };
  if (!Object.hasOwn(lists, type))
    throw new Fault(
      'invalid_parameter',
      `Invalid fallback_type. Must be one of: ['general', 'context_window', 'content_policy']`,
      { param: 'fallback_type' },
    );
  const of = lists[type as keyof typeof lists];
  const { data } = JSON.parse(listing.toString()) as { readonly data: readonly { readonly id: string }[] };
  const models = active.modelAccess.of(caller);
  const items = data.map((item) => {
    const stated = of.get(item.id) ?? of.get('*') ?? [];
    const fallbacks = stated.filter((name) => !isOfOtherTeams(active, name, models));
    return { ...item, metadata: { fallbacks } };
  });
  return { data: items, object: 'list' };
}

/** Pages of `GET /v2/model/info`. */
const PAGE = { usual: 50, most: 1_000 } as const;
const SORTS = ['model_name', 'created_at', 'updated_at', 'costs', 'status'];

/** `GET /v2/model/info`: the same as `/model/info`, page by page, with filters. @throws Fault invalid_parameter */
export async function modelInfoPage(x: Exchange, caller: AuthenticatedCaller): Promise<void> {
  const query = new URLSearchParams(x.query);
  const page = whole(query, 'page', 1, 1_000_000);
  const size = whole(query, 'size', PAGE.usual, PAGE.most);
  const model = query.get('model') ?? '';
  const id = query.get('modelId') ?? '';
  const search = (query.get('search') ?? '').toLowerCase();
  const group = query.get('access_group') ?? '';
  const models = x.active.modelAccess.of(caller);
  const isWanted = ({ config }: LiveDeployment): boolean =>
    models.allows(config.group) &&
    serves(models.bound, config) &&
    (model === '' || config.group === model) &&
    (id === '' || config.id === id) &&
    config.group.toLowerCase().includes(search) &&
    (group === '' || groupsIn(config.statedInfo).includes(group)) &&
    (!isTrue(query.get('wildcard_only')) || config.group.includes('*'));
  const found = sorted([...x.active.deployments.values()].filter(isWanted), query);
  const { gatewayFacts } = x.active.services;
  await gatewayFacts.refresh(x.active.deployments.values());
  const { shown, total, pages } = pageOf(found, page, size);
  sendJson(x, {
    data: shown.map(({ config }) => modelInfoItem(config, gatewayFacts.of(config))),
    total_count: total,
    current_page: page,
    total_pages: pages,
    size,
  });
}

const groupsIn = ({ access_groups: groups }: Readonly<Record<string, unknown>>): readonly unknown[] =>
  Array.isArray(groups) ? groups : [];

/** In the order of the configuration unless `sortBy=model_name` says otherwise; nothing else is known to sort by. */
function sorted(found: readonly LiveDeployment[], query: URLSearchParams): readonly LiveDeployment[] {
  const by = query.get('sortBy') ?? '';
  if (by === '') return found;
  const order = (query.get('sortOrder') || 'asc').toLowerCase();
  if (!SORTS.includes(by)) throw wrong('sortBy', `must be one of ${SORTS.join(', ')}`);
  if (order !== 'asc' && order !== 'desc') throw wrong('sortOrder', 'must be asc or desc');
  const inOrder =
    by === 'model_name' ? found.toSorted((a, b) => compare(a.config.group, b.config.group)) : found;
  return order === 'asc' ? inOrder : inOrder.toReversed();
}

/** `GET /model/info`, `/v1/model/info`; `?litellm_model_id=` selects one. */
export async function modelInfo(x: Exchange, caller: AuthenticatedCaller): Promise<void> {
  const { snapshot, deployments, services, modelAccess } = x.active;
  const models = modelAccess.of(caller);
  const id = new URLSearchParams(x.query).get(`${snapshot.dialect.brand}_model_id`) || null;
  const isWanted = (one: { readonly id: string }): boolean => id === null || one.id === id;
  const served = [...deployments.values()].filter(
    ({ config }) => isWanted(config) && models.allows(config.group) && serves(models.bound, config),
  );
  const disabled = snapshot.disabled.filter(
    (one) => isWanted(one) && models.allows(one.group) && wouldServe(models.bound, one),
  );
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
