// The identity headers that the doctor's own calls carry: a session of their own and the tag `doctor`, written as the
// gateway of the entry reads them, so that its ledger shows what they were.
import type { Deployment } from '../../config/snapshot.ts';
import { writeIdentity } from '../headers/identity-headers.ts';

export const DOCTOR_TAG = 'doctor';
/** What its calls name themselves by. */
export const DOCTOR_AGENT = 'throughline-doctor';

/** Flat. */
export function identityOf({ gateway }: Deployment, sessionId: string): string[] {
  const headers: string[] = [];
  const identity = { sessionId, endUser: null, tags: [DOCTOR_TAG], metadata: null };
  writeIdentity(
    gateway,
    identity,
    (name, value) => headers.push(name, value),
    () => undefined,
  );
  return headers;
}
