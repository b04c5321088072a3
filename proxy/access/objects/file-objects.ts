// The keys and teams of the configuration file as objects: the API shows them and does not change them.
import type { AccessSettings, FileTerms } from '../../../config/access-settings.ts';
import { blankKey, blankTeam } from './blank.ts';
import { NO_BUDGET, NO_LIMITS, type AccessObject, type VirtualKey } from './objects.ts';

/** As a key of the API says it. */
const ALLOWS_CHAOS = Object.freeze({ allow_chaos: true });

export function fileObjects({ keys, teams }: AccessSettings): readonly AccessObject[] {
  return [
    ...teams.map(({ id, alias, models, modelAliases, members, ...terms }): AccessObject => ({
      ...blankTeam(id, 0),
      ...termsOf(terms),
      origin: 'file',
      alias,
      models,
      modelAliases,
      members: members.map((member) => ({
        ...member,
        budgetId: null,
        budget: NO_BUDGET,
        limits: NO_LIMITS,
      })),
    })),
    ...keys.map(
      ({
        sha256,
        lastFour,
        alias,
        type,
        allowedRoutes,
        models,
        aliases,
        teamId,
        userId,
        ofSessions,
        expiresMs,
        allowsChaos,
        ...terms
      }): AccessObject => ({
        ...blankKey(sha256, lastFour, 0),
        ...termsOf(terms),
        origin: 'file',
        alias,
        type,
        allowedRoutes,
        models,
        aliases,
        teamId,
        userId,
        expiresMs,
        metadata: allowsChaos ? { ...ofSessions, ...ALLOWS_CHAOS } : ofSessions,
      }),
    ),
  ].map((object) => Object.freeze(object));
}

/** Windows that no calendar says are counted from the epoch: the same ones after every restart. */
function termsOf(terms: FileTerms): Pick<VirtualKey, 'budget' | 'limits' | 'tags' | 'blocked'> {
  const { maxBudget, softBudget, budgetDuration, rpm, tpm, maxParallel, modelRpm, modelTpm } = terms;
  return {
    budget: { ...NO_BUDGET, maxBudget, softBudget, budgetDuration },
    limits: { rpm, tpm, maxParallel, modelRpm, modelTpm },
    tags: terms.tags,
    blocked: terms.blocked,
  };
}
