// Asks the gateways behind us the same thing now and again, and keeps what each said last: an answer stays in use while a gateway
// cannot be asked, and that it cannot is told once.
import type { Deployment } from '../../config/snapshot.ts';
import { failureOf } from '../upstream/failures.ts';
import { get, GetTimeout } from '../upstream/get.ts';
import type { Pool } from '../upstream/pool.ts';

/** What is needed of a deployment to ask its gateway. */
export interface AskedDeployment {
  readonly config: Deployment;
  readonly pool: Pool;
  readonly headers: { readonly fixed: readonly string[] };
}

/** What gateways are asked. */
interface Question<T> {
  /** Of the thing that is asked for, in messages. */
  readonly name: string;
  readonly isFor: (config: Deployment) => boolean;
  readonly pathOf: (config: Deployment) => string;
  readonly timeoutMs: number;
  readonly maxBytes: number;
  /** null = it has another form. @throws SyntaxError */
  readonly read: (text: string) => T | null;
  /** @param before what it had answered last; null = never */
  readonly onAnswer?: (answer: T, before: T | null) => void;
}

/** For how long an answer is good, and how soon a gateway that gave none is asked again. */
interface Periods {
  readonly keptMs: number;
  readonly failedMs: number;
}

/** What one gateway said to one key. */
export interface Said<T> {
  readonly apiBase: string;
  /** null = it has never answered. */
  readonly answer: T | null;
  /** Why it did not answer the last time; null = it did. */
  readonly error: string | null;
  /** How often it did not. */
  readonly failures: number;
}

interface Kept<T> extends Said<T> {
  /** Monotonic ms. */
  readonly until: number;
}

export class GatewayPoll<T> {
  readonly #mono: () => number;
  /** By address and key: another key may see other models. */
  readonly #kept = new Map<string, Kept<T>>();
  readonly #running = new Map<string, Promise<void>>();
  /** What has come to fail, or to answer, and has not been told. */
  readonly #untold = new Map<string, Said<T>>();

  /** @param mono monotonic milliseconds */
  constructor(mono: () => number) {
    this.#mono = mono;
  }

  /** What the gateway of a deployment said; null = it has not been asked. */
  of(config: Deployment): Said<T> | null {
    return this.#kept.get(placeOf(config)) ?? null;
  }

  /** Of each gateway that is asked. */
  get all(): Iterable<Said<T>> {
    return this.#kept.values();
  }

  /** Those whose failure began, changed or ended since the last call, and those that answered for the first time. */
  takeChanges(): readonly Said<T>[] {
    const changes = [...this.#untold.values()];
    this.#untold.clear();
    return changes;
  }

  /** Asks the gateways whose answers are missing or old, and forgets those of no deployment. Never rejects. */
  async refresh(
    deployments: Iterable<AskedDeployment>,
    question: Question<T>,
    periods: Periods,
  ): Promise<void> {
    const places = new Map<string, AskedDeployment>();
    for (const one of deployments) if (question.isFor(one.config)) places.set(placeOf(one.config), one);
    for (const place of this.#kept.keys()) if (!places.has(place)) this.#kept.delete(place); // of an earlier configuration
    const now = this.#mono();
    const old = [...places].filter(([place]) => (this.#kept.get(place)?.until ?? 0) <= now);
    await Promise.all(
      old.map(([place, one]) => {
        const running = this.#running.get(place) ?? this.#ask(place, one, question, periods);
        this.#running.set(place, running);
        return running;
      }),
    );
  }

  async #ask(
    place: string,
    asked: AskedDeployment,
    question: Question<T>,
    { keptMs, failedMs }: Periods,
  ): Promise<void> {
    const { apiBase } = asked.config;
    const found = await answerOf(asked, question);
    this.#running.delete(place);
    const before = this.#kept.get(place);
    const isGood = found.error === null;
    const said: Said<T> = {
      apiBase,
      answer: found.answer ?? before?.answer ?? null,
      error: found.error,
      failures: (before?.failures ?? 0) + (isGood ? 0 : 1),
    };
    this.#kept.set(place, { ...said, until: this.#mono() + (isGood ? keptMs : failedMs) });
    if (before?.error !== said.error) this.#untold.set(place, said);
    if (found.error === null) question.onAnswer?.(found.answer, before?.answer ?? null);
  }
}

type Found<T> =
  { readonly answer: T; readonly error: null } | { readonly answer: null; readonly error: string };

async function answerOf<T>(
  { config, pool, headers }: AskedDeployment,
  { name, pathOf, timeoutMs, maxBytes, read }: Question<T>,
): Promise<Found<T>> {
  const none = (error: string): Found<T> => ({ answer: null, error });
  try {
    const options = { path: pathOf(config), headers: headers.fixed, timeoutMs, maxBytes };
    const { status, body } = await get(pool, options);
    if (status !== 200) return none(`GET ${config.apiBase} ${name} answered ${status}`);
    const answer = body === null ? null : read(body.toString());
    return answer === null ? none(`GET ${config.apiBase} ${name} answered no list`) : { answer, error: null };
  } catch (cause) {
    if (cause instanceof GetTimeout) return none(`no answer within ${timeoutMs} ms`);
    return none(
      cause instanceof SyntaxError ? 'its list is no JSON' : failureOf(cause, config.apiBase).message,
    );
  }
}

const placeOf = ({ origin, pathPrefix, apiKey }: Deployment): string =>
  `${origin}${pathPrefix} ${apiKey?.sha256() ?? ''}`;
