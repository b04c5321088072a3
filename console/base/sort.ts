// By which column a list is sorted stands in the address; nothing stands there for the order that it begins with.
import { param, setParams, type Params } from './router.ts';

export interface Sort {
  readonly by: string;
  readonly descending: boolean;
}

interface SortInAddress {
  readonly sort: Sort;
  /** Writes another one into the address. */
  readonly onSort: (next: Sort) => void;
}

/**
 * The sort in the address. Read within a component, it follows the address.
 * @param first the column and the direction that a list begins with
 * @param resets members of the address that another order makes wrong: the page of a list that the server cuts
 */
export function sortInAddress(first: Sort, resets: readonly string[] = []): SortInAddress {
  const order = param('order');
  const descending = first.descending ? order !== 'up' : order === 'down';
  const other = first.descending ? 'up' : 'down';
  return {
    sort: { by: param('sort') || first.by, descending },
    onSort: (next) => {
      const changes: Record<string, Params[string]> = {
        sort: next.by,
        order: next.descending === first.descending ? null : other,
      };
      for (const name of resets) changes[name] = null;
      setParams(changes, { replace: true });
    },
  };
}
