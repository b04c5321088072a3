// What a protocol is: everything in which one API differs from another (chat completions, responses, messages ...) is a
// member of its Protocol object. No other folder branches on the protocol. A new one is one file beside this one
// and one line in table.ts.
import type { Json } from '../bodies/json.ts';
import type { Cut } from '../bodies/splice.ts';
import type { Fault } from '../errors/fault.ts';
import type { ConversationRules } from './conversation.ts';
import type { QueryTable } from './query.ts';
import type { ToolRules } from './tool-uses.ts';
import type { TokenReading } from './usage.ts';

/** All that one API differs in from the others: data and pure functions, so one object serves every call. */
export interface Protocol {
  /** Unique; names it where the object itself cannot go, such as another thread. */
  readonly name: string;
  /** POST endpoints that name a model. */
  readonly endpoints: readonly EndpointRow[];
  /** Calls on a response that the upstream has stored. */
  readonly stored: readonly StoredResponseRow[];
  readonly response: ResponseRules;
  readonly events: EventRules;
  readonly errors: ErrorShape;
  readonly text: TextRules;
  /** How a broken stream can be continued by another upstream; null: it cannot. */
  readonly continuation: Continuation | null;
  /**
   * Members that say how long an answer may be, dotted where they stand in an object; absent: none does. Upstreams pass
   * over those of other APIs.
   */
  readonly outputLimits?: readonly string[];
  /** Members that say how many answers are asked for, beside `n` and `best_of`; dotted likewise. */
  readonly choiceCounts?: readonly string[];
  /** Members that ask for a service tier, of which the first that is stated counts; absent: `service_tier` does. */
  readonly tierMembers?: readonly string[];
  /** Members that say the same, dotted where they stand in an object: where the client states one, none is added. */
  readonly alternatives?: readonly (readonly string[])[];
  /** A budget of thoughts must be below the limit of the answer; absent: it counts by itself. */
  readonly limitsThoughts?: true;
  /** Members that hold settings, each of which may be added by itself; absent: none does. */
  readonly settingObjects?: readonly string[];
  /** The spellings of a member; absent: it has one. */
  readonly spellings?: (name: string) => readonly string[];
  /** Objects that an operator adds join those of the client, member by member, as in LiteLLM; absent: they replace them. */
  readonly joinsObjects?: true;
  /** A member that may be a list of prompts, each with answers of its own. */
  readonly promptList?: string;
  /** A flag of a request whose answer is made to its end, whatever becomes of its stream; absent: there is none. */
  readonly backgroundFlag?: string;
  /** What names of request headers begin with that mean something in this protocol alone; lower-case. */
  readonly ownHeaders?: readonly string[];
  /** Headers without which no server of this protocol answers, flat. */
  readonly neededHeaders?: readonly string[];
  /** The path below which its endpoints stand, made of the upstream's prefix; absent: the prefix itself. */
  readonly prefixOf?: (pathPrefix: string) => string;
  /** A whole answer says that the work goes on behind it, so that its usage is still to come; absent: none does. */
  readonly isPending?: (answer: Json) => boolean;
  /** The messages of a request; absent: a request holds none. */
  readonly conversation?: ConversationRules;
  /** Counts of a usage object as the upstream sent it. */
  readTokens(usage: Json | null): TokenReading;
}

/** Names of the members that lead to a value, outermost first. */
type Path = readonly [string, ...string[]];

/** One operation of a protocol: what is called, what it takes, how it is charged. */
export interface EndpointRow {
  /** Path below the upstream's prefix, e.g. `chat/completions`; `{model}` in it is the place of the model's name. */
  readonly path: string;
  /** As LiteLLM's spend rows name it. */
  readonly callType: string;
  /** `form`: uploads, multipart or JSON. */
  readonly body: 'json' | 'form';
  /** The query parameters that go upstream. */
  readonly query: QueryTable;
  /** Streams carry usage only when `stream_options.include_usage` asks for it. */
  readonly usageOnRequest: boolean;
  /** What is charged beside tokens. */
  readonly pricedBy: 'tokens' | 'images' | 'characters';
  /** Its answer has tokens that a model writes: budgets and limits hold room for them before the call. */
  readonly writes: boolean;
  /** What can be counted here where the upstream states no usage. */
  readonly counted: 'prompt and answer' | 'prompt' | 'nothing';
  /** Returns a stored response: its usage is in the row of the call that made it and must not count twice. */
  readonly returnsStored: boolean;
  /** Its answers stream whatever the body says, or never do; absent: the member `stream` decides. */
  readonly streams?: 'always' | 'never';
  /** No other API has anything like it, so a gateway that does not speak this one gets no such call; absent: it goes there as it is. */
  readonly elsewhere?: 'refused';
  /** It counts the tokens of a prompt and calls no model: how a count of our own is written. Costs nothing. */
  readonly countAnswer?: (tokens: number) => Json;
}

/** An endpoint with the protocol it speaks. */
export interface Endpoint extends EndpointRow {
  readonly protocol: Protocol;
}

/** One operation on a stored response. */
export interface StoredResponseRow {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** What follows the response's id in the path. */
  readonly suffix: string;
  readonly endpoint: EndpointRow;
}

/** Reads responses that are one JSON document. */
export interface ResponseRules {
  /** The top-level members that are read; no other is built. */
  readonly members: ReadonlySet<string>;
  /** Members that hold what a model answers; an error beside none of them is all that was sent. */
  readonly answers: ReadonlySet<string>;
  /** The members say that the answer failed, whatever of it there is; absent: only an error in its place does. */
  readonly hasFailed?: (members: Json) => boolean;
  /** An answer is a JSON object: anything else, a page of HTML say, is none. */
  readonly isObject: boolean;
  /** The one that holds the usage: looked for at the end of a response that is too large to be kept whole. */
  readonly usageMember: string;
  /** The one that states the model. */
  readonly modelMember: string;
  /** Tools that the upstream runs and charges; absent: its usage states them. */
  readonly tools?: ToolRules;
  usageIn(members: Json): Json | null;
}

/** Reads events of a stream. */
export interface EventRules {
  /** Finds the events that may hold usage, an end or an error; the others are not parsed. */
  readonly markers: RegExp;
  /** To the usage object of an event. */
  readonly usagePath: Path;
  /** To the model that an event states. */
  readonly modelPath: Path;
  /** One event of a stream states it; absent: several do. */
  readonly modelIsStatedOnce?: boolean;
  /** Names of the members that lead to the end of an answer: of an event that is too large to be kept, these are. */
  readonly endMembers: ReadonlySet<string>;
  /** Finds the number that an event states, in its first group; absent: events have none. */
  readonly eventNumber?: RegExp;
  /** `[DONE]` ends an answer that had no other end, if anything came before; false: it only follows an end. */
  readonly endsWithDone: boolean;
  /** @param before what earlier events stated */
  read(event: StreamEvent, before: StreamSoFar): EventFacts;
  /** The event is part of the answer; false: it only says that an answer will come. */
  isAnswer(event: Json): boolean;
}

export interface StreamEvent {
  /** Its `type`, else the name of the event, else ''. */
  readonly type: string;
  readonly json: Json;
  /** The response that the event describes: its `response` or `message`, else the event itself. */
  readonly answer: Json;
}

/** What earlier events of the stream stated. */
export interface StreamSoFar {
  readonly usage: Json | null;
  /** Their `finishes`. */
  readonly finishes: ReadonlySet<string>;
}

/** What one event states. */
export interface EventFacts {
  /** All usage that is known now; null when this event states none. */
  readonly usage: Json | null;
  /** The usage is that of the input; the output is still to come. */
  readonly usageIsPartial: boolean;
  /** null: the stream goes on. */
  readonly end: StreamEnd | null;
  /** The choices in it, a bit for each: see `choiceBits`; absent: there are none. */
  readonly choices?: number;
  /** The choices that it ends, each with its reason; absent: none. */
  readonly finishes?: readonly string[];
  /** It carries usage, and nothing else that the client does not have yet. */
  readonly isUsageOnly?: boolean;
}

/** `terminal`: the answer is whole, but usage may follow. `finished`: nothing relevant can follow. */
export type StreamEnd = 'terminal' | 'finished' | 'failed';

export const NO_FACTS: EventFacts = Object.freeze({ usage: null, usageIsPartial: false, end: null });

/** How a fault is put so that the SDKs of the protocol raise on it. */
export interface ErrorShape {
  /** The body of a response. */
  body(fault: Fault): Buffer;
  /** The last event of a broken stream. @param number of this event, where the protocol counts them; absent: it is the first */
  event(fault: Fault, number?: number): Buffer;
  /** That event is a terminal event, so the stream has its end with it; absent: only a cut connection says that it is not whole. */
  readonly endsStream?: boolean;
}

/** Where the text that a model reads and writes stands, for a count of its tokens. */
export interface TextRules {
  /** Members of a request that hold the prompt. */
  readonly prompt: readonly string[];
  /** Members of a request whose JSON is read by the model as it stands. */
  readonly tools: readonly string[];
  /** Members of a JSON answer. */
  readonly answer: readonly string[];
  /** What an event adds to the answer; null for events that sum up what came before. */
  inEvent(event: Json): unknown;
}

/** Continues a stream of this protocol. */
interface Continuation {
  /** Keeps what is sent to the client. */
  transcript(): Transcript;
  /**
   * Cuts that make `text` the beginning of the answer that a request asks for; null when the request has no place for it.
   * @param body a JSON request of the client
   */
  prefill(body: Buffer, text: string, maxDepth: number): Promise<readonly Cut[] | null>;
}

/** Keeps what a stream has sent so far, and rewrites the events of a second upstream into the same stream. */
export interface Transcript {
  /** The text that another upstream can continue; null when it cannot be continued faithfully. */
  readonly prefix: string | null;
  /** The stream cannot be read: nothing of it is kept. */
  close(): void;
  /** Notes events that are about to be sent as they are. */
  noteSent(piece: Buffer): Passed;
  /** From here on, events of another upstream follow, which begin after `prefix`. */
  resume(): void;
  /** Likewise, of one that gives the whole answer anew: what is the same as the text so far is left out. */
  repeat(): void;
  /** Rewrites events of that upstream as events of the stream that was begun. */
  rewrite(piece: Buffer): Passed;
}

/** What of a piece may be sent. */
export interface Passed {
  readonly bytes: Buffer | null;
  /** Why nothing more may be sent: the stream is broken here. */
  readonly broken: string | null;
}
