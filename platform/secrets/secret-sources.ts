// What an agent server gets of secrets when a conversation starts, in its own shape (openhands.sdk.secret, 1.58). The
// secrets of a user are looked up here by the sandbox when an agent needs them: so the request that starts a conversation
// and the agent server's files hold no value, and a secret that is deleted or replaced is so for running conversations too.
import type { Sandbox } from '../sandboxes/sandbox.ts';
import type { UserSecrets } from './user-secrets.ts';

export type SecretSource =
  | { readonly kind: 'StaticSecret'; readonly value: string; readonly description?: string | null }
  | {
      readonly kind: 'LookupSecret';
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly description: string | null;
    };

/** By name. */
export type SecretSources = Readonly<Record<string, SecretSource>>;

/** The secrets of the sandbox's owner. @param apiUrl this interface, `/api/v1` included; null = no sandbox reaches it */
export async function secretSources(
  secrets: UserSecrets,
  { id, userId, key }: Sandbox,
  apiUrl: string | null,
): Promise<SecretSources> {
  if (apiUrl === null) return staticSources(secrets, userId);
  const list = await secrets.list(userId);
  const headers = { 'X-Session-API-Key': key.reveal() };
  const url = (name: string): string => `${apiUrl}/sandboxes/${id}/settings/secrets/${name}`;
  return Object.fromEntries(
    list.map(({ name, description }) => [
      name,
      { kind: 'LookupSecret', url: url(name), headers, description } as const,
    ]),
  );
}

async function staticSources(secrets: UserSecrets, userId: string): Promise<SecretSources> {
  const all = await secrets.all(userId);
  return Object.fromEntries(
    all.map(({ name, description, value }) => [
      name,
      { kind: 'StaticSecret', value: value.reveal(), description } as const,
    ]),
  );
}

/** Values that stand in the sources themselves: they must not be repeated to anybody. */
export function valuesIn(sources: SecretSources): readonly string[] {
  return Object.values(sources).flatMap((one) => (one.kind === 'StaticSecret' ? [one.value] : []));
}
