// The one class that is thrown on the request path. Anything else that is thrown is a bug and becomes `internal_error`.
import { FAULTS, type FaultCode, type FaultSource } from './codes.ts';

interface FaultDetails {
  /** Name of the body member, header or query parameter at fault. */
  readonly param?: string;
  /** Where the configuration says so: another one than the table's. */
  readonly status?: number;
  /** Extra response headers, e.g. `allow`, `retry-after`. */
  readonly headers?: readonly (readonly [string, string])[];
  readonly cause?: unknown;
}

/** SDKs treat any error whose text holds these as a rate limit, whatever its status. */
const TRIGGERS = /\b429\b|rate[\s_-]*limit/gi;

/** A failure with its status, its side and a text that is safe to show: never a credential, never a stack. */
export class Fault extends Error {
  readonly code: FaultCode;
  readonly status: number;
  readonly type: string;
  readonly source: FaultSource;
  readonly param: string | null;
  readonly headers: readonly (readonly [string, string])[];

  constructor(code: FaultCode, message: string, details: FaultDetails = {}) {
    // Texts may quote a model name of the client or a port of the configuration.
    super(
      message.replace(TRIGGERS, '[...]'),
      details.cause === undefined ? undefined : { cause: details.cause },
    );
    const rule = FAULTS[code];
    this.name = 'Fault';
    this.code = code;
    this.status = details.status ?? rule.status;
    this.type = rule.type;
    this.source = rule.source;
    this.param = details.param ?? null;
    this.headers = details.headers ?? [];
  }
}

/** Whatever was thrown, as a Fault: bugs lose their text here (it goes to the log by `cause`). */
export function toFault(thrown: unknown): Fault {
  if (thrown instanceof Fault) return thrown;
  return new Fault('internal_error', 'The proxy failed to handle this request. This is a bug in the proxy.', {
    cause: thrown,
  });
}
