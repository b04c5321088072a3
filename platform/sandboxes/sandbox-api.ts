// The operations on sandboxes and their specs, in the platform's shapes.
import type { SandboxSpec } from '../../config/snapshot.ts';
import { pageOfList } from '../api/pages.ts';
import { invalidValue, refuse } from '../api/refusal.ts';
import type { Handler } from '../api/router.ts';
import { instant } from '../ids.ts';
import type { Sandbox } from './sandbox.ts';
import type { Sandboxes } from './sandboxes.ts';

const MAX_IDS = 100;

/** The handlers, by operation id. @param startedMs epoch milliseconds; specs have no birthday of their own */
export function sandboxApi(sandboxes: Sandboxes, startedMs: number): Record<string, Handler> {
  const specInfo = (spec: SandboxSpec): Record<string, unknown> => ({
    id: spec.id,
    command: spec.command.length === 0 ? null : spec.command,
    created_at: instant(startedMs),
    initial_env: {}, // may hold secrets of the operator
    working_dir: spec.workingDir,
  });
  return {
    searchSandboxes: ({ userId, query }) => {
      const page = pageOfList(sandboxes.known.list(userId), query);
      return { body: { ...page, items: page.items.map(sandboxInfo) } };
    },
    getSandboxes: ({ userId, query }) => {
      const ids = query['id'] as readonly string[];
      if (ids.length > MAX_IDS)
        throw refuse(400, `Cannot request more than ${MAX_IDS} sandboxes at once, got ${ids.length}`);
      return {
        body: ids.map((id) => {
          const sandbox = sandboxes.known.find(userId, id);
          return sandbox === null ? null : sandboxInfo(sandbox);
        }),
      };
    },
    startSandbox: async ({ userId, query }) => {
      const spec = sandboxes.spec((query['sandbox_spec_id'] as string | undefined) ?? null);
      return { body: sandboxInfo(await sandboxes.start(userId, spec, [])) };
    },
    pauseSandbox: async ({ userId, path }) => {
      await sandboxes.pause(userId, path['sandbox_id'] ?? '');
      return { body: { success: true } };
    },
    resumeSandbox: async ({ userId, path }) => {
      await sandboxes.resume(userId, path['sandbox_id'] ?? '');
      return { body: { success: true } };
    },
    deleteSandbox: async ({ userId, path, query }) => {
      const id = path['id'] ?? '';
      if (query['sandbox_id'] !== undefined && query['sandbox_id'] !== id)
        throw invalidValue(['query', 'sandbox_id'], 'it names another sandbox than the path');
      await sandboxes.remove(userId, id);
      return { body: { success: true } };
    },
    searchSandboxSpecs: ({ query }) => {
      const page = pageOfList(sandboxes.specs, query);
      return { body: { ...page, items: page.items.map(specInfo) } };
    },
    getSandboxSpecs: ({ query }) => ({
      body: (query['id'] as readonly string[]).map((id) => {
        const spec = sandboxes.specs.find((one) => one.id === id);
        return spec === undefined ? null : specInfo(spec);
      }),
    }),
  };
}

function sandboxInfo(sandbox: Sandbox): Record<string, unknown> {
  const { id, userId, specId, status, detail, place, key, createdMs } = sandbox;
  const runs = status === 'RUNNING' && place !== null;
  return {
    id,
    created_by_user_id: userId === '' ? null : userId,
    sandbox_spec_id: specId,
    status,
    session_api_key: runs ? key.reveal() : null,
    exposed_urls: runs ? [{ name: 'AGENT_SERVER', url: place.url, port: place.port }] : null,
    created_at: instant(createdMs),
    status_detail: detail,
  };
}
