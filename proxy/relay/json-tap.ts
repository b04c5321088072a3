// Reads usage, id, model and the kind of error out of an answer that is one JSON object, while it is relayed. It never
// changes or delays a byte, never throws, keeps no text, and its memory is bounded whatever the upstream sends.
import { Buffer } from 'node:buffer';
import type { Family } from '../protocols/errors.ts';
import {
  ANSWER_DEPTH,
  asObject,
  Edges,
  identifierIn,
  membersOfHead,
  objectIn,
  textIn,
  usageInTail,
} from '../bodies/edges.ts';
import { peek, readJson } from '../bodies/peek.ts';
import type { Delivered } from './sample.ts';

/** What an answer says about itself; null = not said, or not JSON. */
export interface JsonReading {
  /** As sent; of a rerank answer its `meta.billed_units` and `meta.tokens` in one. */
  readonly usage: Readonly<Record<string, unknown>> | null;
  readonly id: string | null;
  readonly model: string | null;
  readonly serviceTier: string | null;
  /** `duration` of a transcript, as sent. */
  readonly duration: unknown;
  /** `error.type`, else `error.code`, when the body is an error. */
  readonly errorType: string | null;
}

type Members = Readonly<Record<string, unknown>>;

const WHOLE_BYTES = 262_144;
const MOST_CHUNKS = 256;
const WANTED = {
  names: new Set(['usage', 'id', 'model', 'error', 'meta', 'service_tier', 'duration']),
  prefixes: [],
};

/** Observes one answer: up to 256 KiB exactly, a larger one by its first 16 and last 64 KiB. */
export class JsonTap {
  readonly #family: Family;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #edges: Edges | null = null;
  #damaged = false;
  readonly #keepText: boolean;
  #delivered: Delivered | null = null;

  /** @param keepText keep an answer without usage, for a count of its tokens */
  constructor(family: Family, keepText = false) {
    this.#family = family;
    this.#keepText = keepText;
  }

  push(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#edges !== null) {
      this.#edges.push(chunk);
      return;
    }
    this.#chunks.push(chunk);
    if (this.#bytes > WHOLE_BYTES) {
      this.#edges = new Edges();
      for (const one of this.#chunks) this.#edges.push(one);
      this.#chunks = [];
    } else if (this.#chunks.length === MOST_CHUNKS) {
      this.#chunks = [Buffer.concat(this.#chunks)]; // a body of tiny chunks would cost 100 bytes and more for each
    }
  }

  /** After `end`: the answer is no JSON object. Answers above 256 KiB are not judged. */
  get damaged(): boolean {
    return this.#damaged;
  }

  /** After `end`: the whole answer, when it has no usage and `keepText` was asked for. */
  get delivered(): Delivered | null {
    return this.#delivered;
  }

  /** The answer is whole. */
  end(): JsonReading {
    if (this.#edges !== null) return readingOf(membersOfEdges(this.#edges), this.#family);
    const body = this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks);
    this.#chunks = [];
    const reading = readingOf(this.#membersOf(body), this.#family);
    if (this.#keepText && reading.usage === null && !this.#damaged)
      this.#delivered = { form: 'json', head: body, bytes: body.length };
    return reading;
  }

  #membersOf(body: Buffer): Members {
    const peeked = peek(body, WANTED, ANSWER_DEPTH);
    this.#damaged = !peeked.ok && peeked.fault === 'not_json';
    return peeked.ok ? Object.fromEntries(peeked.members.map((one) => [one.name, readJson(body, one)])) : {};
  }
}

function membersOfEdges(edges: Edges): Members {
  const members = membersOfHead(edges.head(), WANTED);
  return { ...members, usage: asObject(members['usage']) ?? usageInTail(edges.tail(), '{') };
}

function readingOf(members: Members, family: Family): JsonReading {
  const meta = family === 'other' ? objectIn(members, 'meta') : null;
  const error = objectIn(members, 'error');
  return {
    usage: objectIn(members, 'usage') ?? usageOfMeta(meta),
    id: textIn(members, 'id'),
    model: textIn(members, 'model'),
    serviceTier: identifierIn(members, 'service_tier'),
    duration: members['duration'],
    errorType: identifierIn(error, 'type') ?? identifierIn(error, 'code'),
  };
}

function usageOfMeta(meta: Members | null): Members | null {
  const billed = objectIn(meta, 'billed_units');
  const tokens = objectIn(meta, 'tokens');
  return billed === null || tokens === null ? (tokens ?? billed) : { ...billed, ...tokens };
}
