// Reads usage, id and model out of an answer that is one JSON object, while it is relayed. It never changes or delays a
// byte, never throws, keeps no text, and its memory is bounded whatever the upstream sends.
import { Buffer } from 'node:buffer';
import { Edges, membersOfHead, objectInTail } from '../bodies/edges.ts';
import { Outline } from '../bodies/outline.ts';
import {
  RESPONSE_DEPTH,
  identifierIn,
  isFilled,
  objectIn,
  parseObject,
  textIn,
  type Json,
} from '../bodies/json.ts';
import { readJson, type Wanted } from '../bodies/members.ts';
import { peek } from '../bodies/peek.ts';
import { withoutMark } from '../bodies/utf8.ts';
import { isError } from '../protocols/errors.ts';
import type { ResponseRules } from '../protocols/protocol.ts';
import type { Delivered } from '../protocols/text.ts';
import { toolUnitsIn, type ToolRules } from '../protocols/tool-uses.ts';
import { countsIn, type Units } from '../protocols/usage.ts';

/** What an answer says about itself; null = not said, or not JSON. */
export interface JsonReading {
  /** As sent; of a rerank answer its `meta.billed_units` and `meta.tokens` in one. */
  readonly usage: Json | null;
  readonly id: string | null;
  readonly model: string | null;
  readonly serviceTier: string | null;
  /** Uses of the upstream's own tools. */
  readonly tools: Units;
  /** `duration` of a transcript, as sent. */
  readonly duration: unknown;
}

const FIRST_BYTES = 64;
const WHOLE_BYTES = 262_144;
const MOST_CHUNKS = 256;

/** Observes one answer: up to 256 KiB exactly, a larger one by its first 16 and last 64 KiB. */
export class JsonTap {
  readonly #rules: ResponseRules;
  readonly #wanted: Wanted;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #edges: Edges | null = null;
  /** Of a large answer, what tells of tools. */
  #outline: Outline | null = null;
  #damaged = false;
  #isObject = false;
  #isAnswer = true;
  readonly #keepText: boolean;
  #delivered: Delivered | null = null;

  /** @param keepText keep an answer without usage, for a count of its tokens */
  constructor(rules: ResponseRules, keepText = false) {
    this.#rules = rules;
    this.#wanted = { names: rules.members, prefixes: [] };
    this.#keepText = keepText;
  }

  push(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#edges !== null) {
      this.#edges.push(chunk);
      this.#outline?.push(chunk);
      return;
    }
    this.#chunks.push(chunk);
    if (this.#bytes > WHOLE_BYTES) {
      this.#edges = new Edges();
      this.#outline = outlineOf(this.#rules.tools);
      for (const one of this.#chunks) {
        this.#edges.push(one);
        this.#outline?.push(one);
      }
      this.#chunks = [];
    } else if (this.#chunks.length === MOST_CHUNKS) {
      this.#chunks = [Buffer.concat(this.#chunks)]; // a body of tiny chunks would cost 100 bytes and more for each
    }
  }

  /** After `end`: the answer is no JSON object. Answers above 256 KiB are not judged. */
  get damaged(): boolean {
    return this.#damaged;
  }

  /** After `end`: it began as a JSON object. */
  get isObject(): boolean {
    return this.#isObject;
  }

  /** After `end`: it has no error in place of an answer, and is an object where answers are. Not judged above 256 KiB. */
  get isAnswer(): boolean {
    return this.#isAnswer;
  }

  /** After `end`: the answer, or the first 16 KiB of a large one, if no usage counts its tokens, or as 0, and `keepText` was asked for. */
  get delivered(): Delivered | null {
    return this.#delivered;
  }

  /** The answer is whole. */
  end(): JsonReading {
    if (this.#edges !== null) {
      const reading = this.#readingOfEdges(this.#edges);
      this.#keepUncounted(reading, this.#edges.first(), this.#bytes);
      return reading;
    }
    const [first = Buffer.alloc(0), ...more] = this.#chunks;
    const body = withoutMark(more.length === 0 ? first : Buffer.concat(this.#chunks));
    this.#chunks = [];
    const members = this.#membersOf(body);
    const reading = readingOf(members, this.#rules.usageIn(members), this.#toolsIn(body));
    if (!this.#damaged) this.#keepUncounted(reading, body, body.length);
    return reading;
  }

  /** @param head the answer, or the beginning of its `bytes` */
  #keepUncounted({ usage }: JsonReading, head: Buffer, bytes: number): void {
    const isCounted = usage !== null && countsIn(usage, 'prompt and answer') === 'stated';
    if (this.#keepText && !isCounted) this.#delivered = { form: 'json', head, bytes };
  }

  #membersOf(body: Buffer): Json {
    const peeked = peek(body, this.#wanted, RESPONSE_DEPTH);
    this.#damaged = !peeked.ok && peeked.fault === 'not_json';
    const head = body.toString('latin1', 0, FIRST_BYTES);
    this.#isObject = head.trimStart().startsWith('{');
    this.#isAnswer = this.#isObject || !this.#rules.isObject;
    if (!peeked.ok) return {};
    const members: Record<string, unknown> = {};
    for (const one of peeked.members) members[one.name] = readJson(body, one); // names of the rules alone
    if (this.#rules.hasFailed?.(members) === true) this.#isAnswer = false;
    else if (isError(members['error'])) this.#isAnswer = this.#hasAnswer(body);
    return members;
  }

  /** The members that hold answers are large; they are looked at only where there is an error beside them. */
  #hasAnswer(body: Buffer): boolean {
    const wanted = { names: this.#rules.answers, prefixes: [] };
    const { members } = peek(body, wanted, RESPONSE_DEPTH);
    return members.some((one) => isFilled(readJson(body, one)));
  }

  /** The members that tell of tools are large, and most answers have none. */
  #toolsIn(body: Buffer): Units {
    const { tools } = this.#rules;
    if (tools === undefined || this.#damaged || !tools.marks.some((mark) => body.includes(mark))) return {};
    const { members } = peek(body, { names: tools.members, prefixes: [] }, RESPONSE_DEPTH);
    return toolUnitsIn(Object.fromEntries(members.map((one) => [one.name, readJson(body, one)])));
  }

  #readingOfEdges(edges: Edges): JsonReading {
    const members = membersOfHead(edges.head(), this.#wanted);
    const { usageMember } = this.#rules;
    const usage = objectIn(members, usageMember) ?? objectInTail(edges.tail(), [usageMember]);
    const outline = this.#outline?.text() ?? null;
    const tools = outline === null ? {} : toolUnitsIn(parseObject(outline) ?? {});
    return readingOf(members, this.#rules.usageIn({ ...members, [usageMember]: usage }), tools);
  }
}

/** Answers of agents have hundreds of calls, which must not be lost: it may hold as much as was held before. */
function outlineOf(tools: ToolRules | undefined): Outline | null {
  if (tools === undefined) return null;
  const { members, outline } = tools;
  return new Outline(
    (name, level) => ((level === 1 ? members : outline).has(name) ? 'members' : null),
    WHOLE_BYTES,
  );
}

function readingOf(members: Json, usage: Json | null, tools: Units): JsonReading {
  return {
    usage,
    tools,
    id: textIn(members, 'id') ?? textIn(members, 'responseId'), // Gemini's names
    model: textIn(members, 'model') ?? textIn(members, 'modelVersion'),
    serviceTier: identifierIn(members, 'service_tier'),
    duration: members['duration'],
  };
}
