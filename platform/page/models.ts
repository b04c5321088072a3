// The models and providers that a web page offers for choice: the proxy's own list. A name with a prefix stands under
// that provider (`openai/gpt-4o`: provider openai, name gpt-4o), one without under the proxy's, so that provider and
// name joined by a slash always lead to the model.
import type { ListedModel, ServedModels } from '../../proxy/server/mount.ts';
import { pageOfList } from '../api/pages.ts';
import type { Handler } from '../api/router.ts';

/** What agents call a model of a proxy like this one by: `litellm_proxy/NAME`. */
const OWN_PROVIDER = 'litellm_proxy';

interface Choice {
  readonly provider: string;
  readonly name: string;
  readonly verified: boolean;
  readonly hidden: boolean;
  readonly canonical: string | null;
}

/** The handlers, by operation id. */
export function modelChoice(models: Pick<ServedModels, 'list'>): Record<string, Handler> {
  return {
    searchModels: ({ query }) => {
      const provider = query['provider__eq'];
      const found = choices(models.list())
        .filter((one) => provider === undefined || one.provider === provider)
        .filter((one) => fits(one, query));
      return { body: pageOfList(found, query) };
    },
    searchProviders: ({ query }) => {
      const byName = Map.groupBy(
        choices(models.list()).filter(({ hidden }) => !hidden),
        ({ provider }) => provider,
      );
      const providers = [...byName].map(([name, all]) => ({
        name,
        verified: all.some(({ verified }) => verified),
      }));
      return {
        body: pageOfList(
          providers.filter((one) => fits(one, query)),
          query,
        ),
      };
    },
    listModelOptions: () => ({
      body: models
        .list()
        .filter(({ isHidden }) => !isHidden)
        .map(({ name }) => name),
    }),
  };
}

/** Verified ones first, as a page shows them; else in the order of the list. */
function choices(list: readonly ListedModel[]): readonly Choice[] {
  return list
    .map(({ name, isStated, isHidden, canonical }) => {
      const slash = name.indexOf('/');
      return {
        provider: slash > 0 ? name.slice(0, slash) : OWN_PROVIDER,
        name: slash > 0 ? name.slice(slash + 1) : name,
        verified: isStated,
        hidden: isHidden,
        canonical,
      };
    })
    .toSorted((a, b) => Number(b.verified) - Number(a.verified));
}

type Query = Readonly<Record<string, unknown>>;

function fits(
  { name, verified }: { readonly name: string; readonly verified: boolean },
  query: Query,
): boolean {
  const { query: text, verified__eq: wanted } = query;
  const holds = typeof text !== 'string' || name.toLowerCase().includes(text.toLowerCase());
  return holds && (typeof wanted !== 'boolean' || verified === wanted);
}
