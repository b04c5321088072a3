// `GET /model_group/info`: one entry per name that the caller may request, with what its deployments can. From the
// configuration and the catalogue; it waits for no gateway and no database.
import type { Deployment } from '../../config/snapshot.ts';
import type { AuthenticatedCaller } from '../access/caller.ts';
import { serves } from '../access/team-deployments.ts';
import { modelFactsOf } from '../active-config/listings.ts';
import { sendJson } from '../pipeline/respond.ts';
import type { Exchange } from '../pipeline/exchange.ts';

type Facts = Readonly<Record<string, unknown>>;

/** `?model_group=` selects one. */
export function modelGroupInfo(x: Exchange, caller: AuthenticatedCaller): void {
  const wanted = new URLSearchParams(x.query).get('model_group');
  const { snapshot, modelAccess } = x.active;
  const models = modelAccess.of(caller);
  const own = snapshot.deployments.filter((one) => serves(models.bound, one));
  const groups = Map.groupBy(own, ({ group }) => group);
  const shown = [...groups].filter(
    ([name]) => (wanted === null || wanted === '' || name === wanted) && models.allows(name),
  );
  sendJson(x, { data: shown.map(([name, deployments]) => groupItem(name, deployments)) });
}

function groupItem(name: string, deployments: readonly Deployment[]): Facts {
  const facts: readonly Facts[] = deployments.map((one) => ({
    ...one.publicParams,
    ...modelFactsOf(one),
  }));
  return {
    model_group: name,
    providers: [...new Set(deployments.map(({ provider }) => provider))],
    // A call may go to any of them: the smallest that holds for all would be wrong for most, LiteLLM shows the largest.
    max_input_tokens: largest(facts, 'max_input_tokens'),
    max_output_tokens: largest(facts, 'max_output_tokens'),
    input_cost_per_token: largest(facts, 'input_cost_per_token'),
    output_cost_per_token: largest(facts, 'output_cost_per_token'),
    mode: first(facts, 'mode') ?? 'chat',
    tpm: sum(facts, 'tpm'),
    rpm: sum(facts, 'rpm'),
    ...features(facts),
    supported_openai_params: first(facts, 'supported_openai_params') ?? null,
    is_public_model_group: false,
  };
}

/** Clients read these even where nothing is known of the model. */
const FEATURES = [
  'supports_parallel_function_calling',
  'supports_vision',
  'supports_web_search',
  'supports_url_context',
  'supports_reasoning',
  'supports_function_calling',
];

/** What some deployment of the group can. */
function features(facts: readonly Facts[]): Facts {
  const known = facts.flatMap((one) => Object.keys(one).filter((name) => name.startsWith('supports_')));
  const names = [...new Set([...FEATURES, ...known])];
  return Object.fromEntries(names.map((name) => [name, facts.some((one) => one[name] === true)]));
}

const numbers = (facts: readonly Facts[], name: string): readonly number[] =>
  facts.map((one) => one[name]).filter((value) => typeof value === 'number');

function largest(facts: readonly Facts[], name: string): number | null {
  const all = numbers(facts, name);
  return all.length === 0 ? null : Math.max(...all);
}

function sum(facts: readonly Facts[], name: string): number | null {
  const all = numbers(facts, name);
  return all.length === 0 ? null : all.reduce((a, b) => a + b, 0);
}

const first = (facts: readonly Facts[], name: string): unknown =>
  facts.map((one) => one[name]).find((value) => value !== undefined && value !== null);
