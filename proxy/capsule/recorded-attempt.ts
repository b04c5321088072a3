// One attempt as it is recorded: what went upstream, and every piece that came back, with its time. Stands between the relay and
// the connections of the deployment, changes nothing and delays nothing.
import type { Buffer } from 'node:buffer';
import type { UpstreamRequest } from '../relay/upstream-request.ts';
import type { HttpRequest, ResponseReader, UpstreamExchange } from '../upstream/exchange.ts';
import { codeOf } from '../upstream/failures.ts';
import type { ReceivedHead } from '../upstream/response-head.ts';
import type { AttemptEnd, KeptHeader, RecordedAttempt } from './format.ts';
import { BytesRecording, type CallMemory } from './recorded-bytes.ts';

/** Where an attempt goes. */
export interface AttemptPlace {
  readonly deployment: string;
  /** The name that goes upstream. */
  readonly model: string;
}

interface Recorder {
  readonly memory: CallMemory;
  readonly keeps: boolean;
  /** Since the call began. */
  readonly nowMs: () => number;
  readonly headers: (list: readonly string[], of: 'request' | 'response') => readonly KeptHeader[];
}

export class AttemptRecording {
  readonly #recorder: Recorder;
  readonly #place: AttemptPlace;
  readonly #call: UpstreamRequest;
  readonly #startedMs: number;
  readonly #request: BytesRecording;
  readonly #response: BytesRecording;
  readonly #headers: readonly KeptHeader[];
  #sentMs: number | null = null;
  #head: RecordedAttempt['head'] = null;
  #end: AttemptEnd = 'open';
  #endedMs: number | null = null;
  #error: string | null = null;

  constructor(recorder: Recorder, place: AttemptPlace, call: UpstreamRequest) {
    this.#recorder = recorder;
    this.#place = place;
    this.#call = call;
    this.#startedMs = recorder.nowMs();
    this.#request = new BytesRecording(recorder.memory, recorder.keeps);
    this.#response = new BytesRecording(recorder.memory, recorder.keeps);
    this.#headers = recorder.headers(call.headers, 'request');
    if (call.body !== null) this.#request.add(this.#startedMs, call.body);
  }

  /** The same request, over connections that are listened to. */
  get call(): UpstreamRequest {
    const { pool } = this.#call;
    const send = (request: HttpRequest, reader: ResponseReader): UpstreamExchange =>
      pool.send(request, new ListeningReader(this, reader));
    return { ...this.#call, pool: { send } };
  }

  sent(): void {
    this.#sentMs = this.#recorder.nowMs();
  }

  head({ status, list }: ReceivedHead): void {
    const headers = this.#recorder.headers(list, 'response');
    this.#head = { at_ms: this.#recorder.nowMs(), status, headers };
  }

  data(bytes: Buffer): void {
    this.#response.add(this.#recorder.nowMs(), bytes);
  }

  ended(error: Error | null): void {
    this.#endedMs = this.#recorder.nowMs();
    this.#end = error === null ? 'whole' : 'broken';
    if (error !== null) this.#error = codeOf(error) || error.name;
  }

  result(): RecordedAttempt {
    const { method, path, apiBase } = this.#call;
    const { bytes, sha256, kept_bytes } = this.#request.end();
    return {
      ...this.#place,
      api_base: apiBase,
      method,
      path: path.split('?', 1)[0] ?? path,
      started_ms: this.#startedMs,
      sent_ms: this.#sentMs,
      request: { headers: this.#headers, body: { bytes, sha256, kept_bytes } },
      head: this.#head,
      response: this.#response.end(),
      end: this.#end,
      ended_ms: this.#endedMs,
      error: this.#error,
    };
  }

  get content(): readonly Buffer[] {
    return [...this.#request.kept, ...this.#response.kept];
  }
}

class ListeningReader implements ResponseReader {
  readonly #recording: AttemptRecording;
  readonly #reader: ResponseReader;

  constructor(recording: AttemptRecording, reader: ResponseReader) {
    this.#recording = recording;
    this.#reader = reader;
  }

  onSent(): void {
    this.#recording.sent();
    this.#reader.onSent();
  }

  onResend(): void {
    this.#reader.onResend?.();
  }

  onHead(head: ReceivedHead): void {
    this.#recording.head(head);
    this.#reader.onHead(head);
  }

  onData(bytes: Buffer): void {
    this.#recording.data(bytes);
    this.#reader.onData(bytes);
  }

  onEnd(written: boolean): void {
    this.#recording.ended(null);
    this.#reader.onEnd(written);
  }

  onError(error: Error): void {
    this.#recording.ended(error);
    this.#reader.onError(error);
  }
}
