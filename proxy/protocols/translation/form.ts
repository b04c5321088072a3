// The intermediate form between protocols: a conversation (what a caller asks for), an answer, and the events of a
// streamed answer. Each protocol reads its own bodies into it and writes them from it, so there are N readers and N
// writers and no pair of protocols knows another.
import type { Json } from '../../bodies/json.ts';
import type { Tokens } from '../usage.ts';

/** Names of the protocols that are translated, as their `Protocol.name` has them. */
export type DialectName = 'chat' | 'messages' | 'responses' | 'gemini';

/**
 * Where a signature came from: Anthropic has two kinds, and LiteLLM passes both on in chat completions. Of `chat`, the data may be
 * '': the thought came as `reasoning_content`, and its upstream wants it back.
 */
export type SignatureOrigin = DialectName | 'messages_redacted' | 'chat_redacted';

/**
 * What a vendor signs a thought with: a signature, or the encrypted thought itself. Valid where it came from, opaque everywhere else.
 */
export interface Signature {
  readonly origin: SignatureOrigin;
  readonly data: string;
}

/** Bytes as base64, or where they are. */
export type Media =
  | { readonly kind: 'data'; readonly type: string; readonly base64: string }
  | { readonly kind: 'url'; readonly type: string | null; readonly url: string };

export interface TextPart {
  readonly kind: 'text';
  readonly text: string;
  /** A prompt cache may end here: Anthropic's `cache_control`. */
  readonly cache?: Json;
}

/** A picture. `detail` is OpenAI's; null: not stated. */
export interface ImagePart {
  readonly kind: 'image';
  readonly media: Media;
  readonly detail: string | null;
  readonly cache?: Json;
}

/** A document or a recording. */
export interface FilePart {
  readonly kind: 'file';
  readonly media: Media;
  readonly name: string | null;
  readonly cache?: Json;
}

/** What a model thought before its answer. */
export interface ThinkingPart {
  readonly kind: 'thinking';
  /** '' where the vendor shows only a signature. */
  readonly text: string;
  readonly signature: Signature | null;
}

interface RefusalPart {
  readonly kind: 'refusal';
  readonly text: string;
}

/** A call of a tool by the model. */
export interface CallPart {
  readonly kind: 'call';
  readonly id: string;
  readonly name: string;
  /** The group of tools that it belongs to (Responses); null: none. */
  readonly namespace: string | null;
  /** `json`: the text of a JSON object. `text`: the free text of a custom tool. */
  readonly form: 'json' | 'text';
  readonly input: string;
  readonly cache?: Json;
}

/** What a tool returned. */
export interface ResultPart {
  readonly kind: 'result';
  /** Of the call; '' where the protocol states none and no call fits. */
  readonly id: string;
  /** The name of the tool, where it is stated. */
  readonly name: string | null;
  readonly form: 'json' | 'text';
  readonly parts: readonly ContentPart[];
  readonly isError: boolean;
  readonly cache?: Json;
}

/** What users, instructions and tool results consist of. */
export type ContentPart = TextPart | ImagePart | FilePart;
/** What a model writes. */
export type AnswerPart = TextPart | ThinkingPart | RefusalPart | CallPart;
export type Part = ContentPart | ThinkingPart | RefusalPart | CallPart | ResultPart;

/** What one side says until the other one speaks. */
export interface Turn {
  /** `system`: instructions in the middle of the conversation. */
  readonly role: 'user' | 'assistant' | 'system';
  readonly parts: readonly Part[];
}

/** A tool that the model may call. */
export interface Tool {
  readonly name: string;
  readonly namespace: string | null;
  readonly description: string | null;
  /** JSON Schema of the input; null: a custom tool, whose input is free text. */
  readonly schema: Json | null;
  readonly strict: boolean | null;
  /** What the text of a custom tool must look like, as OpenAI writes it. */
  readonly format: Json | null;
  readonly cache?: Json;
}

/** Which tools the model may or must call; `any`: one of them, `tool`: this one. */
export type ToolChoice =
  | { readonly kind: 'auto' | 'any' | 'none' }
  | { readonly kind: 'tool'; readonly name: string; readonly namespace: string | null };

export type EffortLevel = 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max';

/** How much a model shall think. `off` is Anthropic's word for what other vendors call a default. */
export type Effort =
  | { readonly kind: 'off' | 'adaptive' }
  | { readonly kind: 'level'; readonly level: EffortLevel }
  | { readonly kind: 'budget'; readonly tokens: number };

/** The form that the answer must have: some JSON, or JSON by a schema. */
export type Structure =
  | { readonly kind: 'json' }
  | {
      readonly kind: 'schema';
      readonly name: string | null;
      readonly description: string | null;
      readonly schema: Json;
      readonly strict: boolean | null;
    };

/** A value with the member of the caller that states it, so that a refusal can name it. */
export interface Stated<T> {
  readonly value: T;
  readonly member: string;
}

/** Settings that only some protocols know. */
export interface Settings {
  readonly temperature?: Stated<number>;
  readonly topP?: Stated<number>;
  readonly topK?: Stated<number>;
  readonly seed?: Stated<number>;
  readonly presencePenalty?: Stated<number>;
  readonly frequencyPenalty?: Stated<number>;
  readonly stop?: Stated<readonly string[]>;
  readonly effort?: Stated<Effort>;
  readonly structure?: Stated<Structure>;
  readonly verbosity?: Stated<string>;
  readonly user?: Stated<string>;
  readonly choice?: Stated<ToolChoice>;
  /** Whether several tools may be called at once. */
  readonly parallel?: Stated<boolean>;
}

/** A request as all protocols can state it. null or an empty list: the caller states nothing of it. */
export interface Conversation {
  readonly instructions: readonly TextPart[];
  readonly turns: readonly Turn[];
  readonly tools: readonly Tool[];
  readonly outputLimit: number | null;
  readonly settings: Settings;
  /** The caller wants thoughts to be shown; null: it does not say. */
  readonly showThoughts: boolean | null;
  /** The key of a prompt cache. */
  readonly cacheKey: string | null;
  /** A chat stream ends with a chunk of usage. */
  readonly usageInStream: boolean;
}

/**
 * Why an answer ends. `tool`: to call tools. `filter`: withheld by its vendor. `pause`: it wants to be continued.
 */
export type EndReason = 'stop' | 'stop_sequence' | 'tool' | 'length' | 'context' | 'filter' | 'pause';

/** How an answer ends. */
export interface End {
  readonly reason: EndReason;
  /** The stop sequence that ended it, where it is known. */
  readonly sequence: string | null;
}

/** A whole answer of a model. */
export interface Answer {
  readonly id: string | null;
  readonly parts: readonly AnswerPart[];
  readonly end: End;
  readonly tokens: Tokens;
}

/** What opens a part of a streamed answer; its text follows in deltas. */
export type PartOpening =
  | { readonly kind: 'text' | 'thinking' | 'refusal' }
  | {
      readonly kind: 'call';
      readonly id: string;
      readonly name: string;
      readonly namespace: string | null;
      readonly form: 'json' | 'text';
    };

/** A failure that the upstream states. */
export interface AnswerError {
  readonly message: string;
  readonly type: string | null;
  readonly code: string | null;
  readonly param: string | null;
}

/** The events of a streamed answer. At most one part is open at a time; `end` or `error` is the last. */
export type AnswerEvent =
  | {
      readonly kind: 'start';
      readonly id: string | null;
      readonly tokens: Tokens;
    }
  | { readonly kind: 'part-start'; readonly part: PartOpening }
  | { readonly kind: 'part-delta'; readonly text: string }
  /** Of the open part, which is a thought. */
  | { readonly kind: 'part-signature'; readonly signature: Signature }
  | { readonly kind: 'part-end' }
  | { readonly kind: 'end'; readonly end: End; readonly tokens: Tokens }
  | { readonly kind: 'error'; readonly error: AnswerError };
