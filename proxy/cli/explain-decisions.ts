// What is decided of a request while it is built, for `throughline explain`: in the order in which it is decided.
import type { HeaderDecision } from '../headers/upstream-headers.ts';
import type { BodyChange } from '../pipeline/body-changes.ts';
import type { QueryDecision } from '../pipeline/upstream-query.ts';

const line = (what: string, name: string, why: string): string =>
  `  ${what.padEnd(10)}${name.padEnd(34)}${why}\n`;

/** Is told of each decision, and writes them down for people. */
export class Decisions {
  readonly #query: QueryDecision[] = [];
  readonly #headers: HeaderDecision[] = [];
  readonly #body: BodyChange[] = [];
  #translation: string | null = null;

  // Fields, not methods: they are passed on one by one.
  readonly query = (decision: QueryDecision): void => void this.#query.push(decision);
  readonly header = (decision: HeaderDecision): void => void this.#headers.push(decision);
  readonly body = (change: BodyChange): void => void this.#body.push(change);
  readonly translated = ({
    from,
    to,
    dropped,
  }: {
    from: string;
    to: string;
    dropped: readonly string[];
  }): void => {
    const lost = dropped.length === 0 ? '' : `  dropped    ${dropped.join(', ')}\n`;
    this.#translation = `  protocol   ${from} -> ${to}, translated\n${lost}`;
  };

  /** @param name of the protocol where nothing was translated */
  protocolText(name: string): string {
    return this.#translation ?? `  protocol   ${name}, as it is\n`;
  }

  get queryText(): string {
    if (this.#query.length === 0) return '';
    const lines = this.#query.map(({ name, action, rule }) =>
      line(action, JSON.stringify(name).slice(1, -1), rule),
    );
    return `query\n${lines.join('')}\n`;
  }

  get headersText(): string {
    return this.#headers.map(({ name, action, rule }) => line(action, name, rule)).join('');
  }

  /** @param before bytes that the client sends @param after bytes that go upstream */
  bodyText(before: number, after: number): string {
    const lines = this.#body.map(({ member, change, why }) => line(change, member, why));
    return `\nbody ${before} -> ${after} bytes\n${lines.length === 0 ? '  passed on as it is\n' : lines.join('')}`;
  }
}
