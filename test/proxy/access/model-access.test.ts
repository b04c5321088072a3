// Whose lists of models a call is judged by.
import t from 'tap';
import { keyCaller } from '../../../proxy/access/caller.ts';
import { ModelAccess } from '../../../proxy/access/model-access.ts';
import { blankKey, blankTeam } from '../../../proxy/access/objects/blank.ts';
import { AccessDirectory } from '../../../proxy/access/objects/directory.ts';
import { NO_BUDGET, NO_LIMITS, type Organization } from '../../../proxy/access/objects/objects.ts';

const organization = (id: string, models: readonly string[]): Organization => ({
  kind: 'organization',
  id,
  alias: null,
  models,
  members: [],
  budgetId: null,
  budget: NO_BUDGET,
  limits: NO_LIMITS,
  origin: 'store',
  revision: 1,
  createdMs: 1,
  updatedMs: 1,
  createdBy: null,
  updatedBy: null,
  metadata: {},
  kept: {},
});

t.test('a call is judged by the organization that pays for it: the one of the team, else of the key', (t) => {
  const directory = new AccessDirectory();
  directory.put(organization('of-key', ['small']));
  directory.put(organization('of-team', ['large']));
  const access = new ModelAccess(new Map(), directory);
  const key = { ...blankKey('k', '', 1), organizationId: 'of-key' };
  const allowed = (organizationId: string | null): readonly string[] => {
    const models = access.of(keyCaller(key, { ...blankTeam('t', 1), organizationId }, null));
    return ['small', 'large'].filter((name) => models.allows(name));
  };
  t.same(allowed('of-team'), ['large']);
  t.same(allowed(null), ['small']);
  t.end();
});
