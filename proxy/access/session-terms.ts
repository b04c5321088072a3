// What the metadata of a key say of each of its conversations, in the dialect's names: how many calls, how much money, how many
// calls and tokens a minute. A conversation is what a call names by a session id; a call that names none has none of these.
import type { Json } from '../bodies/json.ts';

/** Of each conversation of a key; null = no limit. */
interface SessionTerms {
  /** Calls, whoever makes them with this key. */
  readonly maxIterations: number | null;
  /** USD, over the whole conversation. */
  readonly maxBudget: number | null;
  readonly rpm: number | null;
  readonly tpm: number | null;
}

const COUNTS = ['max_iterations', 'session_rpm_limit', 'session_tpm_limit'] as const;
const AMOUNT = 'max_budget_per_session';

/** null = the metadata say nothing of conversations, as nearly all do. */
export function sessionTermsOf(metadata: Json): SessionTerms | null {
  if (metadata[AMOUNT] === undefined && COUNTS.every((name) => metadata[name] === undefined)) return null; // asked by every call
  const [maxIterations, rpm, tpm] = COUNTS.map((name) => countIn(metadata[name]));
  const maxBudget = amountIn(metadata[AMOUNT]);
  const terms = { maxIterations: maxIterations ?? null, maxBudget, rpm: rpm ?? null, tpm: tpm ?? null };
  return Object.values(terms).every((value) => value === null) ? null : terms;
}

/** What is wrong with these members; null = nothing. A limit that cannot be read must not be taken for none. */
export function sessionTermsMistake(
  metadata: Json,
): { readonly param: string; readonly message: string } | null {
  const isStated = (name: string): boolean => metadata[name] !== undefined && metadata[name] !== null;
  for (const name of COUNTS)
    if (isStated(name) && countIn(metadata[name]) === null)
      return {
        param: `metadata.${name}`,
        message: `metadata.${name} must be a whole number of 0 or more`,
      };
  if (!isStated(AMOUNT) || amountIn(metadata[AMOUNT]) !== null) return null;
  return {
    param: `metadata.${AMOUNT}`,
    message: `metadata.${AMOUNT} must be a non-negative finite number of US dollars`,
  };
}

/** The dialect also takes numbers that are written as text. */
function amountIn(value: unknown): number | null {
  const number = typeof value === 'string' && /^\s*\d+(?:\.\d+)?\s*$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) && number >= 0 ? number : null;
}

function countIn(value: unknown): number | null {
  const number = amountIn(value);
  return number !== null && Number.isSafeInteger(number) ? number : null;
}
