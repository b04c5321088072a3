// Refusals of calls about keys, teams, users and budgets, in the dialect's statuses, texts and shapes: clients of LiteLLM
// match on substrings of the body. `code` in these bodies is the status as a text, as LiteLLM sends it; our own stands in
// `reason`.
import type { FaultCode } from '../../errors/codes.ts';
import { Fault } from '../../errors/fault.ts';
import type { ErrorShape } from '../../protocols/protocol.ts';

/** One member of a body with a wrong type, as FastAPI names it. */
export interface FieldIssue {
  /** As pydantic calls it: `int_type`, `missing`, ... */
  readonly type: string;
  readonly loc: readonly (string | number)[];
  readonly msg: string;
}

/**
 * How the body of a refusal looks. `wrapped`: `{"error": {message, type, param, code}}`. `raw`: `{"detail": {"error": ...}}`, of
 * team members, deletions and budgets. `issues`: `{"detail": [{type, loc, msg}]}`.
 */
type Shape =
  | { readonly kind: 'wrapped'; readonly type: string }
  | { readonly kind: 'raw' }
  | { readonly kind: 'issues'; readonly issues: readonly FieldIssue[] };

interface RefusalOptions {
  readonly param?: string;
  /** The `type` member; default: that of the code. */
  readonly type?: string;
  /** The body is `{"detail": {"error": message}}`. */
  readonly raw?: boolean;
  readonly cause?: unknown;
}

/** Codes of such refusals; each has one status. */
type RefusalCode = Extract<
  FaultCode,
  | 'invalid_fields'
  | 'invalid_object'
  | 'object_exists'
  | 'object_taken'
  | 'object_conflict'
  | 'object_not_found'
  | 'object_in_use'
  | 'management_denied'
>;

/** A fault that knows its shape. */
export class Refusal extends Fault {
  readonly shape: Shape;

  constructor(
    code: RefusalCode,
    message: string,
    options: RefusalOptions = {},
    issues: readonly FieldIssue[] = [],
  ) {
    const { type, raw = false, ...details } = options;
    super(code, message, details);
    if (issues.length > 0) this.shape = { kind: 'issues', issues };
    else this.shape = raw ? { kind: 'raw' } : { kind: 'wrapped', type: type ?? this.type };
  }
}

/** 400: a value that cannot be. */
export const invalid = (message: string, param?: string): Refusal =>
  new Refusal('invalid_object', message, param === undefined ? {} : { param });

/** 404. */
export const notFound = (message: string, options: RefusalOptions): Refusal =>
  new Refusal('object_not_found', message, options);

/** 403: the caller may not. */
export const denied = (message: string, options: RefusalOptions = {}): Refusal =>
  new Refusal('management_denied', message, options);

/** 422: members that are missing or of a wrong type. */
export function wrongFields(issues: readonly FieldIssue[]): Refusal {
  const text = issues.map(({ loc, msg }) => `${loc.slice(1).join('.')}: ${msg}`).join('; ');
  return new Refusal('invalid_fields', text, {}, issues);
}

/** The same for one member. @param type as pydantic calls it */
export const wrongField = (loc: FieldIssue['loc'], type: string, msg: string): Refusal =>
  wrongFields([{ type, loc, msg }]);

/** 422: a member that must be there is not. */
export const missingField = (loc: FieldIssue['loc'], msg = 'Field required'): Refusal =>
  wrongField(loc, 'missing', msg);

/** The errors of these routes, authentication's included. */
export const MANAGEMENT_ERRORS: ErrorShape = {
  body: (fault) => Buffer.from(JSON.stringify(bodyOf(fault))),
  event: (fault) => Buffer.from(`data: ${JSON.stringify(bodyOf(fault))}\n\n`),
};

function bodyOf(fault: Fault): object {
  const { message, param, status, code } = fault;
  const shape: Shape = fault instanceof Refusal ? fault.shape : { kind: 'wrapped', type: fault.type };
  switch (shape.kind) {
    case 'issues':
      return { detail: shape.issues };
    case 'raw':
      return { detail: { error: message } };
    case 'wrapped':
      return { error: { message, type: shape.type, param, code: String(status), reason: code } };
  }
}
