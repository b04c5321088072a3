// Which spec a request means. A request chooses one of the operator's; it can state none.
import type { SandboxSpec } from '../../config/snapshot.ts';
import { refuse } from '../api/refusal.ts';

/** Where the runtime of a sandbox takes conversations; null = nowhere, it is told by its environment alone. */
export function conversationsPathOf(specs: readonly SandboxSpec[], specId: string): string | null {
  return specs.find(({ id }) => id === specId)?.conversationsPath ?? null;
}

/** @throws Refusal 409 when there are none, 404 when the id names none. @param id null = the first */
export function chosenSpec(specs: readonly SandboxSpec[], id: string | null): SandboxSpec {
  const spec = id === null ? specs[0] : specs.find((one) => one.id === id);
  if (spec !== undefined) return spec;
  throw specs.length === 0
    ? refuse(409, 'Sandboxes are off: the configuration has no platform.sandbox_specs')
    : refuse(404, 'Sandbox Spec not found');
}
