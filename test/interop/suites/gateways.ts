// Real gateways of others between this proxy and a scripted provider; what held is written into docs/compatibility.md.
import { CHECKS } from '../gateways/checks.ts';
import { startChain, type Chain, type Check } from '../gateways/chain.ts';
import { GATEWAYS } from '../gateways/list.ts';
import { writePage } from '../gateways/page.ts';
import type { GatewayRecipe } from '../gateways/recipe.ts';
import { Missing, type Case, type InteropRun, type Suite } from '../harness/suite.ts';

/** One chain at a time: each gateway is started by its first check, and ends with its last one, which kills it. */
function casesOf(
  run: InteropRun,
  recipe: GatewayRecipe,
  missing: string | null,
  held: Set<string>,
): readonly Case[] {
  let chain: Chain | null = null;
  return CHECKS.map((check) => ({
    name: `${recipe.name}: ${check.title}`,
    missing,
    play: async () => {
      chain ??= await startChain(run, recipe);
      chain.script = null;
      const remark = await judged(chain, check);
      held.add(`${recipe.name} ${check.id}`);
      return remark;
    },
  }));
}

/** A check that is known not to hold must fail, and for the reason that the page states. */
async function judged(chain: Chain, check: Check): Promise<string> {
  const limit = chain.recipe.limits[check.id];
  const failure = await check.play(chain).then(
    () => null,
    (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
  );
  if (limit === undefined) {
    if (failure !== null) throw failure;
    return check.id;
  }
  if (failure === null) throw new Error(`it holds now: take its limit out of the recipe (${limit.why})`);
  if (!limit.fails.test(failure.message)) throw failure;
  return `${limit.cell}: ${limit.why}`;
}

export const gateways: Suite = {
  name: 'gateways',
  about:
    'LiteLLM (PyPI), Portkey (npm), litellm-rs and Bifrost (played) behind this proxy; writes docs/compatibility.md',
  prepare: async (run) => {
    const held = new Set<string>();
    const versions: Record<string, string> = {};
    const cases: Case[] = [];
    for (const recipe of GATEWAYS) {
      let missing: string | null = null;
      try {
        versions[recipe.name] = await recipe.prepare(run);
      } catch (error) {
        if (!(error instanceof Missing)) throw error;
        missing = error.message;
      }
      cases.push(...casesOf(run, recipe, missing, held));
    }
    const all = GATEWAYS.length * CHECKS.length;
    cases.push({
      name: 'the page',
      missing: cases.some((one) => typeof one.missing === 'string') ? 'not every gateway was there' : null,
      play: () => {
        if (held.size < all)
          throw new Error(`${all - held.size} of ${all} did not end as stated: nothing is written`);
        return Promise.resolve(writePage(versions));
      },
    });
    const named = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
    return { software: named.join(', '), cases };
  },
};
