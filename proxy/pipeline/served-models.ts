// The model names that the proxy serves now, for the API that is mounted on its server. Asked anew each time, because
// reloads and runtime models change them.
import type { ActiveConfig } from '../active-config/active-config.ts';
import { listedModels } from '../active-config/listings.ts';
import type { ListedModel } from '../base/mount.ts';
import { Fault } from '../errors/fault.ts';
import { groupOf, isServed } from './select-deployment.ts';

/** Each method answers by the configuration that serves when it is called. */
export interface ServedModels {
  /** What a client can ask for, in the order of `GET /v1/models`, without the patterns in it. */
  names(): readonly string[];
  /** The same names with what else is known of them, in the same order. */
  list(): readonly ListedModel[];
  /** How a name is served: it is listed itself, or a pattern covers it; null = it is not. */
  find(name: string): 'listed' | 'pattern' | null;
  /** Why a name is not served, as a call that asks for it is told. */
  whyNot(name: string): string;
}

/** @param active null = no configuration serves yet */
export function servedModels(active: () => ActiveConfig | null): ServedModels {
  return {
    names: () => {
      const now = active();
      if (now === null) return [];
      return now.listings.names.filter((name) => !isPattern(now, name));
    },
    list: () => {
      const now = active();
      if (now === null) return [];
      return listedModels(now.snapshot, now.listings.names).filter(({ name }) => !isPattern(now, name));
    },
    find: (name) => {
      const now = active();
      if (now === null || isPattern(now, name) || !isServed(now, name)) return null;
      return isListed(now, name) ? 'listed' : 'pattern';
    },
    whyNot: (name) => {
      const now = active();
      if (now === null) return 'The proxy has just started; send it again.';
      if (isPattern(now, name))
        return `\`${name}\` is a pattern of the model list; name one model that it covers.`;
      try {
        groupOf(now, name);
      } catch (error) {
        if (error instanceof Fault) return error.message;
        throw error;
      }
      return `The model \`${name}\` is served.`;
    },
  };
}

function isPattern({ snapshot }: ActiveConfig, name: string): boolean {
  return snapshot.wildcards.some(({ pattern }) => pattern === name);
}

/** An alias may be kept out of the list; a bare `*` puts the names of the catalogue into it. */
function isListed({ groups, snapshot, listings }: ActiveConfig, name: string): boolean {
  if (groups.has(name) || snapshot.routing.aliases.has(name)) return true;
  return listings.names.includes(name);
}
