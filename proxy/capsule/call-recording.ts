// One call as it is recorded, from its body to the last byte that its client got. Made only for calls of a key or a conversation
// for which an administrator has asked; all else never comes here.
import type { Buffer } from 'node:buffer';
import type { ResponseObserver } from '../downstream/downstream-response.ts';
import type { UpstreamRequest } from '../relay/upstream-request.ts';
import { AttemptRecording, type AttemptPlace } from './recorded-attempt.ts';
import type { CapsuleMetadata, KeptHeader, RecordedResponse } from './format.ts';
import { keptHeaders } from './kept-headers.ts';
import { BytesRecording, type CallMemory } from './recorded-bytes.ts';

/** What is known of a call when its recording begins. */
export interface RecordedCall {
  readonly id: string;
  readonly startMs: number;
  /** Monotonic; the zero of all times. */
  readonly startedAt: number;
  readonly mono: () => number;
  readonly proxy: string;
  readonly config: string;
  readonly endpoint: string;
  /** Flat, as the client sent them. */
  readonly headers: readonly string[];
  /** Credentials of the caller: no value holds one. */
  readonly credentials: readonly string[];
  /** `x-litellm-` */
  readonly ownPrefix: string;
}

/** A call that has ended, ready to be written. */
export interface FinishedRecording {
  readonly metadata: Omit<CapsuleMetadata, 'sealed' | 'rule'>;
  /** In the order of the format. */
  readonly content: readonly Buffer[];
}

export class CallRecording implements ResponseObserver {
  readonly #call: RecordedCall;
  readonly #memory: CallMemory;
  readonly #keeps: boolean;
  readonly #headers: readonly KeptHeader[];
  readonly #body: BytesRecording;
  readonly #attempts: AttemptRecording[] = [];
  readonly #response: BytesRecording;
  #head: RecordedResponse['head'] = null;
  #end: RecordedResponse['end'] | null = null;
  #facts: CapsuleMetadata['call'] = {};

  /** @param keeps whether bodies and responses are kept */
  constructor(call: RecordedCall, memory: CallMemory, keeps: boolean) {
    this.#call = call;
    this.#memory = memory;
    this.#keeps = keeps;
    this.#headers = keptHeaders(call.headers, 'request', call.credentials, call.ownPrefix);
    this.#body = new BytesRecording(memory, keeps);
    this.#response = new BytesRecording(memory, keeps);
  }

  get #nowMs(): number {
    return Math.max(0, Math.round((this.#call.mono() - this.#call.startedAt) * 100) / 100);
  }

  /** As the client sent it; its memory may be used for something else afterwards. */
  requestBody(bytes: Buffer): void {
    this.#body.add(this.#nowMs, bytes);
  }

  /** What a step has found out of the call. */
  note(facts: CapsuleMetadata['call']): void {
    this.#facts = { ...this.#facts, ...facts };
  }

  /** @param secrets that the deployment adds to the request: no value holds one */
  attempt(call: UpstreamRequest, place: AttemptPlace, secrets: readonly string[]): UpstreamRequest {
    const known = [...this.#call.credentials, ...secrets];
    const recording = new AttemptRecording(
      {
        memory: this.#memory,
        keeps: this.#keeps,
        nowMs: () => this.#nowMs,
        headers: (list, of) => keptHeaders(list, of, known, this.#call.ownPrefix),
      },
      place,
      call,
    );
    this.#attempts.push(recording);
    return recording.call;
  }

  onHead(status: number, headers: readonly string[]): void {
    const { credentials, ownPrefix } = this.#call;
    this.#head = {
      at_ms: this.#nowMs,
      status,
      headers: keptHeaders(headers, 'response', credentials, ownPrefix),
    };
  }

  onPiece(bytes: Buffer): void {
    this.#response.add(this.#nowMs, bytes);
  }

  onEnd(how: 'whole' | 'cut'): void {
    this.#end = how;
  }

  /** @param hasLeft the client's connection is closed */
  finish(end: CapsuleMetadata['end'], hasLeft: boolean): FinishedRecording {
    // What is cut a moment after its error event has not been ended yet.
    const ended = this.#end ?? (hasLeft ? 'left' : 'cut');
    const { id, startMs, proxy, config, endpoint } = this.#call;
    const { bytes, sha256, kept_bytes } = this.#body.end();
    return {
      metadata: {
        capsule: 1,
        id,
        started: new Date(startMs).toISOString(),
        proxy,
        config,
        call: { endpoint, ...this.#facts, is_cut: this.#memory.isCut },
        request: { headers: this.#headers, body: { bytes, sha256, kept_bytes } },
        attempts: this.#attempts.map((one) => one.result()),
        response: { head: this.#head, body: this.#response.end(), end: ended },
        end,
      },
      content: [...this.#body.kept, ...this.#attempts.flatMap((one) => one.content), ...this.#response.kept],
    };
  }

  /** Its memory is free for others. */
  release(): void {
    this.#memory.giveBack();
  }
}
