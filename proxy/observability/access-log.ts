// The access log: one line for each request, with the same members whatever its end, and in the buffer of the other log
// lines. Not written by pino, which took 1.1 us and 2.3 KB for this line; a template of all its members left as much behind.
import type { LineLevel } from './failure.ts';

/** What a line says, in this order. Texts are as the client or the configuration gave them, `call_type` and `end` are words of ours; no header, body or key. */
export interface AccessLine {
  readonly call_id: string;
  readonly call_type: string;
  readonly model: string;
  readonly model_id: string | null;
  readonly upstream: string | null;
  /** In which the upstream answered: another one than the caller's where the call was translated. */
  readonly protocol: string | null;
  readonly status: number | null;
  readonly end: string;
  readonly ms: number;
  readonly first_byte_ms: number | null;
  readonly session: string;
  /** Name of the caller's key, else the first 12 hex digits of its SHA-256. */
  readonly key: string | null;
  readonly team: string | null;
  readonly tokens: number | null;
  readonly attempts: number;
  /** The upstream's own id of the call. */
  readonly upstream_call_id: string | null;
  /** Whose fault it is, its reason and a sentence; all null when the call went well. */
  readonly fault: 'client' | 'proxy' | 'upstream' | null;
  readonly error: string | null;
  readonly why: string | null;
  /** The fault that a test key asked for by name; only then. */
  readonly chaos?: string | undefined;
  /** Only while tracing is on. */
  readonly trace_id?: string | undefined;
}

/** `{"level":30,"time":...,"call_id":...,...,"msg":"request"}` and a newline; `start`: time and process as the log writes them. */
export function accessText(level: LineLevel, start: string, line: AccessLine): string {
  return `{"level":${level}${start},${JSON.stringify(line).slice(1, -1)},"msg":"request"}\n`;
}
