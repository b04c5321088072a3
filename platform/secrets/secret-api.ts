// The operations on a user's secrets, V1 and V0, and what a sandbox looks up of them with its own key.
import { pageOfList } from '../api/pages.ts';
import { refuse } from '../api/refusal.ts';
import type { Handler } from '../api/router.ts';
import { isUp } from '../sandboxes/sandbox.ts';
import type { Sandboxes } from '../sandboxes/sandboxes.ts';
import type { UserSecrets } from './user-secrets.ts';

interface SecretBody {
  readonly name: string;
  readonly description?: string | null;
}

interface NewSecretBody extends SecretBody {
  readonly value: string;
}

/** The handlers, by operation id. */
export function secretApi(secrets: UserSecrets, sandboxes: Sandboxes): Record<string, Handler> {
  const save =
    (status: number, existing: 'replace' | 'refuse'): Handler =>
    async ({ userId, body }) => {
      const { name, value, description } = body as NewSecretBody;
      await secrets.save(userId, { name, value, description }, existing);
      return { status, body: { message: 'Secret saved successfully' } };
    };
  const update: Handler = async ({ userId, path, body }) => {
    const { name, description } = body as SecretBody;
    await secrets.update(userId, path['secret_id'] ?? '', { name, description });
    return { body: { message: 'Secret updated successfully' } };
  };
  const remove: Handler = async ({ userId, path }) => {
    await secrets.remove(userId, path['secret_id'] ?? '');
    return { body: { message: 'Secret deleted successfully' } };
  };
  return {
    searchSecrets: async ({ userId, query }) => {
      const sent = query['name__contains'];
      const part = typeof sent === 'string' ? sent.toLowerCase() : '';
      const found = (await secrets.list(userId)).filter(({ name }) => name.toLowerCase().includes(part));
      return { body: pageOfList(found, query) };
    },
    saveSecret: save(201, 'replace'),
    updateSecret: update,
    deleteSecret: remove,
    listSandboxSecrets: async ({ userId, sandboxId }) => {
      demandLive(sandboxes, userId, sandboxId);
      return { body: { secrets: await secrets.list(userId) } };
    },
    readSandboxSecret: async ({ userId, sandboxId, path }) => {
      demandLive(sandboxes, userId, sandboxId);
      const value = await secrets.value(userId, path['secret_name'] ?? '');
      if (value === null) throw refuse(404, 'Secret not found');
      return { bytes: Buffer.from(value.reveal()), contentType: 'text/plain; charset=utf-8', headers: [] };
    },
    loadSecretsV0: async ({ userId }) => ({ body: { custom_secrets: await secrets.list(userId) } }),
    createSecretV0: save(200, 'refuse'),
    updateSecretV0: update,
    deleteSecretV0: remove,
  };
}

/** What is left of a sandbox that has ended asks for nothing; its key may be in other hands. @throws Refusal 403 */
function demandLive(sandboxes: Sandboxes, userId: string, sandboxId: string | null): void {
  const sandbox = sandboxes.known.find(userId, sandboxId ?? '');
  if (sandbox === null || !isUp(sandbox)) throw refuse(403, 'The sandbox is not running');
}
