// One connection to Valkey or Redis, for as long as it lasts: the only file that imports the client library. Nothing is
// queued while it is down and nothing is ever sent again by the library: a script might then run twice, or much later than
// its caller waits. Whoever uses a connection that has ended opens another one.
import { createClient, RESP_TYPES } from '@redis/client';
import type { ValkeySettings } from '../../../config/valkey-settings.ts';
import { AnswerDeadlines } from './answer-deadlines.ts';
import type { Script } from './scripts.ts';

/** No server that answers needs longer. */
const CONNECT_MS = 2000;
/** More commands than this without an answer: the server is stuck. About 5 MB. */
const MOST_UNANSWERED = 10_000;

/** What the server says about itself. */
export interface ServerFacts {
  /** Of the server process, another one after each restart; '' where it is not told. */
  readonly runId: string;
  readonly version: string;
  /** It may throw counters away when its memory is full. */
  readonly evicts: string | null;
}

type Client = ReturnType<typeof clientFor>;

const AS_BYTES = { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } };

export class ValkeyConnection {
  readonly facts: ServerFacts;
  /** Resolves when it is of no use any more. */
  readonly ended: Promise<Error>;
  readonly #client: Client;
  readonly #deadlines = new AnswerDeadlines();
  readonly #end: (why: Error) => void;

  /** @throws Error when there is no server, or it does not let us in */
  static async open(settings: ValkeySettings): Promise<ValkeyConnection> {
    const client = clientFor(settings);
    const { promise, resolve } = Promise.withResolvers<Error>();
    client.on('error', resolve); // the first one: with no reconnecting it is also the last
    client.on('end', () => resolve(new Error('the connection was closed')));
    try {
      await client.connect();
      const facts = factsOf(await client.sendCommand<string>(['INFO']));
      return new ValkeyConnection(client, { promise, resolve }, facts);
    } catch (error) {
      if (client.isOpen) client.destroy();
      throw error;
    }
  }

  private constructor(
    client: Client,
    { promise, resolve }: Pick<PromiseWithResolvers<Error>, 'promise' | 'resolve'>,
    facts: ServerFacts,
  ) {
    this.#client = client;
    this.ended = promise;
    this.#end = resolve;
    this.facts = facts;
  }

  /** @throws TooLate, or what the server or the connection says */
  run(
    script: Script,
    keys: readonly string[],
    args: readonly (string | Buffer)[],
    withinMs: number,
  ): Promise<unknown> {
    return this.#run(script, [String(keys.length), ...keys, ...args], withinMs);
  }

  /** The same for an answer with bytes in it: all of its texts are Buffers. */
  runForBytes(
    script: Script,
    keys: readonly string[],
    args: readonly (string | Buffer)[],
    withinMs: number,
  ): Promise<unknown> {
    return this.#run(script, [String(keys.length), ...keys, ...args], withinMs, AS_BYTES);
  }

  async #run(
    script: Script,
    tail: readonly (string | Buffer)[],
    withinMs: number,
    options?: typeof AS_BYTES,
  ): Promise<unknown> {
    try {
      return await this.#send(['EVALSHA', script.sha1, ...tail], withinMs, options);
    } catch (error) {
      // After SCRIPT FLUSH or a restart; nothing has run.
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      return await this.#send(['EVAL', script.source, ...tail], withinMs, options);
    }
  }

  #send(args: (string | Buffer)[], withinMs: number, options?: typeof AS_BYTES): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const end = this.#deadlines.add(withinMs, reject);
    this.#client.sendCommand<unknown>(args, options).then(
      (value) => {
        end();
        resolve(value);
      },
      (error: unknown) => {
        end();
        reject(error as Error);
      },
    );
    return promise;
  }

  close(): void {
    if (this.#client.isOpen) this.#client.destroy();
    this.#deadlines.stop();
    this.#end(new Error('it was given up'));
  }
}

function clientFor(settings: ValkeySettings): ReturnType<typeof createClient> {
  const { host, port, username, password } = settings;
  const socket = { host, port, connectTimeout: CONNECT_MS, reconnectStrategy: false as const };
  return createClient({
    socket: settings.tls ? { ...socket, tls: true, servername: host } : socket,
    ...(username === null ? {} : { username }),
    ...(password === null ? {} : { password: password.reveal() }),
    database: settings.database,
    disableOfflineQueue: true,
    commandsQueueMaxLength: MOST_UNANSWERED,
    commandOptions: { timeout: 0 }, // ours is on the answer; the library's costs an AbortSignal a command
    RESP: 2, // so that Redis 6 and all its relatives can be used
    maintNotifications: 'disabled',
    name: 'throughline',
  });
}

/** `INFO`: https://valkey.io/commands/info/ */
function factsOf(info: string): ServerFacts {
  const of = (name: string): string => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? '';
  const policy = of('maxmemory_policy');
  const isBounded = !['', '0'].includes(of('maxmemory'));
  const version = of('valkey_version') || of('redis_version');
  return { runId: of('run_id'), version, evicts: isBounded && policy !== 'noeviction' ? policy : null };
}
