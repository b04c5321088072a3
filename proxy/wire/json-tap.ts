// Reads usage, id, model and the kind of error out of an answer that is one JSON object, while it is relayed. It never
// changes or delays a byte, never throws, keeps no text, and its memory is bounded whatever the upstream sends.
import { Buffer } from 'node:buffer';
import type { Family } from '../errors/body.ts';
import {
  ANSWER_DEPTH,
  asObject,
  Edges,
  identifierIn,
  membersOfHead,
  objectIn,
  textIn,
  usageInTail,
} from './edges.ts';
import { peek, readJson } from './peek.ts';

/** What an answer says about itself; null = not said, or not JSON. */
export interface JsonReading {
  /** As sent; of a rerank answer its `meta.tokens` or `meta.billed_units`. */
  readonly usage: Readonly<Record<string, unknown>> | null;
  readonly id: string | null;
  readonly model: string | null;
  /** `error.type`, else `error.code`, when the body is an error. */
  readonly errorType: string | null;
}

type Members = Readonly<Record<string, unknown>>;

const WHOLE_BYTES = 262_144;
const MOST_CHUNKS = 256;
const WANTED = { names: new Set(['usage', 'id', 'model', 'error', 'meta']), prefixes: [] };

/** Observes one answer: up to 256 KiB exactly, a larger one by its first 16 and last 64 KiB. */
export class JsonTap {
  readonly #family: Family;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #edges: Edges | null = null;
  #damaged = false;

  constructor(family: Family) {
    this.#family = family;
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

  /** The answer is whole. */
  end(): JsonReading {
    return readingOf(
      this.#edges === null ? this.#membersOfWhole() : membersOfEdges(this.#edges),
      this.#family,
    );
  }

  #membersOfWhole(): Members {
    const body = this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks);
    this.#chunks = [];
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
    usage: objectIn(members, 'usage') ?? objectIn(meta, 'tokens') ?? objectIn(meta, 'billed_units'),
    id: textIn(members, 'id'),
    model: textIn(members, 'model'),
    errorType: identifierIn(error, 'type') ?? identifierIn(error, 'code'),
  };
}
