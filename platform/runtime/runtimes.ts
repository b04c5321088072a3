// The agent server that runs a conversation, to be called in the name of its owner: only at the place of the sandbox that
// this server itself started, within a time and a size. Nothing of a caller's request chooses the host, the port or a header.
import type { Secret } from '../../config/secret.ts';
import { refuse } from '../api/refusal.ts';
import type { Conversation } from '../conversations/conversation.ts';
import type { Conversations } from '../conversations/conversations.ts';
import { repositoryOf } from '../conversations/repository.ts';
import { reasonOf } from './runtime-refusal.ts';
import { dashed } from '../ids.ts';
import type { SandboxPlace } from '../sandboxes/driver.ts';
import { isTimeout, requestBytes, ResponseTooLarge, type RuntimeBytes } from '../sandboxes/http-request.ts';
import type { Sandbox } from '../sandboxes/sandbox.ts';
import type { Sandboxes } from '../sandboxes/sandboxes.ts';

/** One call to an agent server. */
interface RuntimeCall {
  readonly method: 'GET' | 'POST';
  /** Below the agent server's `/api`, begins with a slash; every part that a caller chose is encoded. */
  readonly path: string;
  /** undefined and null are left out. */
  readonly query?: Readonly<Record<string, string | number | null | undefined>>;
  readonly body?: unknown;
  readonly maxBytes?: number;
}

/** A message of the agent, a file, a diff: what takes longer hangs. */
const TIMEOUT_MS = 30_000;

/** The agent server of a running sandbox. */
export class Runtime {
  readonly conversation: Conversation;
  readonly #place: SandboxPlace;
  readonly #key: Secret;
  readonly #timeoutMs: number;

  constructor(conversation: Conversation, place: SandboxPlace, key: Secret, timeoutMs = TIMEOUT_MS) {
    this.conversation = conversation;
    this.#place = place;
    this.#key = key;
    this.#timeoutMs = timeoutMs;
  }

  /** Of the sandbox, as the agent server sees it. */
  get workingDir(): string {
    return this.#place.workingDir;
  }

  /** Where the agent works: the repository that was chosen, if there is one. */
  get projectDir(): string {
    const repository = repositoryOf(this.conversation.facts);
    return repository === null ? this.workingDir : `${this.workingDir}/${repository.folder}`;
  }

  /** `/conversations/ID`, as the agent server names it. */
  get conversationPath(): string {
    return `/conversations/${dashed(this.conversation.id)}`;
  }

  /** The response, whatever its status. @throws Refusal 413 (too large), 502, 504 */
  async ask({ method, path, query = {}, body, maxBytes }: RuntimeCall): Promise<RuntimeBytes> {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query))
      if (value !== undefined && value !== null) search.set(name, String(value));
    try {
      return await requestBytes({
        to: this.#place.url,
        method,
        path: `/api${path}${search.size === 0 ? '' : `?${search.toString()}`}`,
        ...(body === undefined ? {} : { body }),
        ...(maxBytes === undefined ? {} : { maxBytes }),
        headers: { 'x-session-api-key': this.#key.reveal() },
        timeoutMs: this.#timeoutMs,
      });
    } catch (error) {
      if (error instanceof ResponseTooLarge) throw tooLarge(maxBytes);
      if (isTimeout(error))
        throw refuse(504, `The agent server did not answer within ${this.#timeoutMs / 1000} s`);
      throw refuse(502, 'The agent server did not answer');
    }
  }

  /** The JSON of a good response. @throws Refusal as `ask`, and 4xx, 502 for what is none */
  async json(call: RuntimeCall): Promise<unknown> {
    const response = await this.ask(call);
    if (response.status < 200 || response.status > 299) throw refusalOf(response);
    return parsed(response) ?? invalid();
  }
}

/** Finds the agent servers of conversations. */
export class Runtimes {
  readonly #conversations: Conversations;
  readonly #sandboxes: Sandboxes;

  constructor(conversations: Conversations, sandboxes: Sandboxes) {
    this.#conversations = conversations;
    this.#sandboxes = sandboxes;
  }

  /** @throws Refusal 404 */
  conversation(userId: string, id: string): Promise<Conversation> {
    return this.#conversations.require(userId, id);
  }

  /** null = it has none, or not any more. */
  sandboxOf({ userId, sandboxId }: Conversation): Sandbox | null {
    return sandboxId === '' ? null : this.#sandboxes.known.find(userId, sandboxId);
  }

  /** In the platform's statuses. @throws Refusal 404 (unknown), 409 (not running), 410 (gone), 503 (broken, or elsewhere) */
  async of(userId: string, id: string): Promise<Runtime> {
    const conversation = await this.conversation(userId, id);
    const sandbox = this.sandboxOf(conversation);
    const status = sandbox?.status ?? 'MISSING';
    if (sandbox === null || status === 'MISSING')
      throw refuse(410, 'The conversation has no sandbox any more, so its agent server cannot be asked');
    if (status === 'PAUSED') {
      const resume = `POST /api/v1/sandboxes/${sandbox.id}/resume`;
      throw refuse(409, `Sandbox is PAUSED. Use ${resume} to resume it first.`);
    }
    if (status === 'STARTING') throw refuse(409, 'Sandbox is STARTING. Wait until it is RUNNING.');
    if (status === 'ERROR' || sandbox.place === null)
      throw refuse(503, `Sandbox is in ERROR: ${sandbox.detail ?? 'its agent server does not answer'}`);
    // The place of another server's sandbox is one of that machine: here something else may listen there.
    if (this.#sandboxes.known.own(sandbox.id) === undefined)
      throw refuse(503, 'The sandbox runs on another server; only that one can reach its agent server');
    return new Runtime(conversation, sandbox.place, sandbox.key);
  }
}

/** What an agent server says to a bad request is for its caller; all else is not. */
export function refusalOf(response: RuntimeBytes): Error {
  const { status } = response;
  const isCallers = status === 400 || status === 404 || status === 413 || status === 422 || status === 429;
  const reason = reasonOf(response.bytes.toString('utf8'), [], null);
  if (isCallers) return refuse(status, `The agent server refused it${reason}`);
  return refuse(502, `The agent server answered ${status}${reason}`);
}

/** undefined = no JSON. */
function parsed({ bytes }: RuntimeBytes): unknown {
  try {
    return JSON.parse(bytes.toString('utf8')) as unknown;
  } catch {
    return undefined;
  }
}

function invalid(): never {
  throw refuse(502, 'The agent server did not answer with JSON');
}

function tooLarge(maxBytes: number | undefined): Error {
  const bound = maxBytes === undefined ? '' : ` than ${Math.floor(maxBytes / 1024 / 1024)} MiB`;
  return refuse(413, `It is larger${bound}: ask the agent server itself (conversation_url, session_api_key)`);
}
