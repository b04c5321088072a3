// Error responses of the platform interface: a status and a body in the platform's own format. Handlers throw them, the
// router catches them.

/** One entry of an HTTPValidationError. It never repeats the input: that may be a secret. */
export interface ValidationIssue {
  /** Begins with `body`, `query` or `path`. */
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  /** A word of the original framework, e.g. `string_type`. */
  readonly type: string;
}

export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly body: unknown;
  /** Flat. */
  readonly headers: readonly string[];

  constructor(status: number, body: unknown, headers: readonly string[] = []) {
    super(`refused with ${status}`);
    this.status = status;
    this.body = body;
    this.headers = headers;
  }
}

/** `{"detail": text}`. */
export function refuse(status: number, text: string, headers: readonly string[] = []): Refusal {
  return new Refusal(status, { detail: text }, headers);
}

/** 422 with an HTTPValidationError. */
export function validationFailed(detail: readonly ValidationIssue[]): Refusal {
  return new Refusal(422, { detail });
}

/** 422 for one value that broke a rule which no schema states. */
export function invalidValue(loc: ValidationIssue['loc'], why: string): Refusal {
  return validationFailed([{ loc, msg: `Value error, ${why}`, type: 'value_error' }]);
}

/** PostgreSQL takes no NUL in a text. @throws Refusal 422 for a text with one among the members of `values`, or in a list there */
export function refuseNul(values: Readonly<Record<string, unknown>>, where: 'query' | 'body'): void {
  for (const [name, value] of Object.entries(values)) {
    const texts: readonly unknown[] = Array.isArray(value) ? value : [value];
    if (texts.some((text) => typeof text === 'string' && text.includes('\0')))
      throw invalidValue([where, name], 'the input must not hold a NUL character');
  }
}
