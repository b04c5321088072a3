// Whose a stored response is. What each role opens is tested from outside, route by route.
import t from 'tap';
import { CallerDirectory, type CallerIdentity } from '../../../proxy/access/callers.ts';
import type { AuthenticatedCaller } from '../../../proxy/access/caller.ts';
import { ownsResponse } from '../../../proxy/access/permissions.ts';

const identity = (sessionId: string, endUser: string | null): CallerIdentity => ({
  sessionId,
  endUser,
  tags: [],
  headers: [],
});

t.test('a response belongs to its key, and to conversations of the same owner', async (t) => {
  const issued = new CallerDirectory();
  const conversations = { 'alice-1': 'alice', 'alice-2': 'alice', bob: 'bob', nobody: null, nobody2: null };
  for (const [key, owner] of Object.entries(conversations)) issued.put(key, identity(key, owner));
  const session = (keyHash: string): AuthenticatedCaller => {
    const known = issued.identityOf(keyHash);
    if (known === null) throw new Error(keyHash);
    return { role: 'session', keyHash, identity: known };
  };
  const inference: AuthenticatedCaller = { role: 'inference', keyHash: 'one' };
  for (const [caller, maker, owns] of [
    [session('alice-1'), 'alice-1', true],
    [session('alice-1'), 'alice-2', true],
    [session('alice-1'), 'bob', false],
    [session('alice-1'), 'one', false],
    [session('alice-1'), 'alice-3, deleted', false],
    [session('nobody'), 'nobody', true],
    [session('nobody'), 'nobody2', false],
    [inference, 'one', true],
    [inference, 'two', false],
    [inference, 'alice-1', false],
    [inference, '', false],
    [{ role: 'admin', keyHash: 'master' }, 'one', true],
    [{ role: 'admin', keyHash: '' }, 'one', true],
  ] as const)
    t.equal(ownsResponse(caller, maker, issued), owns, `${caller.role} ${caller.keyHash}: ${maker}`);
  t.equal(ownsResponse(inference, 'two', null), false, 'no keys are issued');
});
