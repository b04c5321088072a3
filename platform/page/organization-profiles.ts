// LLM profiles below an organization: a web page that knows its organization asks there. They are the user's profiles
// of /api/v1/settings/profiles, in slightly other shapes.
import { jsonOf, type Handler } from '../api/router.ts';
import { demandOwn } from './organization.ts';

type Call = Parameters<Handler>[0];

/** The handlers, by operation id. @param profiles those of the user's profiles, by operation id */
export function organizationProfiles(profiles: Readonly<Record<string, Handler>>): Record<string, Handler> {
  /** Runs the user's operation, and shapes its answer. */
  const like = (operation: string, shape: (body: never) => unknown = (body) => body): Handler => {
    const handle = profiles[operation];
    if (handle === undefined) throw new Error(`there is no operation ${operation}`);
    return async (call: Call) => {
      demandOwn(call.userId, call.path);
      return { body: shape(jsonOf(await handle(call)) as never) };
    };
  };
  const get = like('getProfile');
  return {
    listOrganizationProfiles: like('listProfiles'),
    getOrganizationProfile: like('getProfile', ({ name, config }: { name: string; config: unknown }) => ({
      name,
      llm: config,
    })),
    saveOrganizationProfile: like('saveProfile'),
    deleteOrganizationProfile: like('deleteProfile'),
    activateOrganizationProfile: async (call) => {
      const { name, message } = jsonOf(await like('activateProfile')(call)) as {
        readonly name: string;
        readonly message: string;
      };
      const { config } = jsonOf(await get(call)) as { readonly config: unknown };
      return { body: { name, message, llm: config } };
    },
    renameOrganizationProfile: like('renameProfile'),
  };
}
