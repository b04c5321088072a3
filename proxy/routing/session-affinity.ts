// Session affinity by weighted rendezvous hashing: every replica of the proxy sends a session to the same deployment
// without coordination, and a deployment that goes away moves its own sessions alone (Thaler and Ravishankar 1998). Pure.
import { byScore, ticket, type Routable } from './routable.ts';

/** The deployments in the order in which this session tries them. */
export function sessionAffinity<T extends Routable>(
  deployments: readonly T[],
  session: string,
): readonly T[] {
  const seed = seedOf(session);
  return byScore(deployments, (deployment) => ticket(mixed(seed ^ deployment.seed), deployment.weight));
}

/** 32 bits of a text: FNV-1a. Short ids in a row differ in few bits, which `mixed` spreads. */
export function seedOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash;
}

/** Uniform in [0, 1): the finaliser of MurmurHash3. */
function mixed(seed: number): number {
  let hash = seed;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}
