// One connection to Valkey or Redis, for as long as it lasts: the only file that imports the client library. Nothing is
// queued while it is down and nothing is ever sent again by the library: a script might then run twice, or much later than
// its caller waits. Whoever uses a connection that has ended opens another one.
import { RedisClient, RESP_TYPES } from '@redis/client';
import { isIP } from 'node:net';
import { watchedBytes } from '../../../config/read.ts';
import type { ValkeyNode, ValkeySettings, ValkeyTls } from '../../../config/valkey-settings.ts';
import { asError } from '../../base/as-error.ts';
import { within } from '../../base/within.ts';
import { AnswerDeadlines, AwaitedAnswer, TooLate } from './answer-deadlines.ts';
import type { Script } from './scripts.ts';

/** No server that answers needs longer. */
const CONNECT_MS = 2000;
/** To let us in and to say what it is; Sentinels are asked one after the other. */
const OPEN_MS = 5000;
/** More commands than this without an answer: the server is stuck. About 5 MB. */
const MOST_UNANSWERED = 10_000;

/** What the server says about itself. */
export interface ServerFacts {
  /** Of the server process, another one after each restart; '' where it is not told. */
  readonly runId: string;
  readonly version: string;
  /** It is no replica. */
  readonly isWritable: boolean;
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

  /** @throws Error when there is no server, or it does not let us in, or says nothing for so long */
  static async open(settings: ValkeySettings, withinMs = OPEN_MS): Promise<ValkeyConnection> {
    const node = await nodeOf(settings);
    const client = clientFor(node, settings);
    const { promise, resolve } = Promise.withResolvers<Error>();
    client.on('error', resolve); // the first one: with no reconnecting it is also the last
    client.on('end', () => resolve(new Error('the connection was closed')));
    try {
      const facts = factsOf(await firstAnswer<string>(client, ['INFO'], withinMs));
      if (settings.sentinels !== null && !facts.isWritable)
        throw new Error('the Sentinels name a server that is a replica');
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
    const awaited = new AwaitedAnswer(withinMs, { resolve, reject });
    this.#deadlines.add(awaited);
    const answered = (value: unknown): void => {
      this.#deadlines.end(awaited);
      resolve(value);
    };
    const failed = (error: Error): void => {
      this.#deadlines.end(awaited);
      reject(error);
    };
    this.#client.sendCommand<unknown>(args, options).then(answered, failed);
    return promise;
  }

  /** What `facts` says of it now: an operator may have changed it since. @throws TooLate, or what the connection says */
  async evicts(withinMs: number): Promise<string | null> {
    return factsOf(String(await this.#send(['INFO', 'memory'], withinMs))).evicts;
  }

  close(why = new Error('it was given up')): void {
    this.#end(why);
    if (this.#client.isOpen) this.#client.destroy();
    this.#deadlines.stop();
  }
}

/** A server that is stuck still takes connections, and says nothing. */
function firstAnswer<T>(client: Client, command: string[], withinMs: number): Promise<T> {
  const answer = client.connect().then(() => client.sendCommand<T>(command));
  return within(withinMs, answer, () => {
    throw new TooLate(`no answer within ${withinMs} ms`);
  });
}

/** Where the server is: as configured, or as the first Sentinel says that answers. @throws Error when none does */
async function nodeOf(settings: ValkeySettings): Promise<ValkeyNode> {
  const { sentinels } = settings;
  if (sentinels === null) return settings;
  let why = 'no Sentinel is named';
  for (const node of sentinels.nodes) {
    const { password } = sentinels;
    const client = clientFor(node, { tls: settings.tls, username: null, password, database: 0 });
    client.on('error', () => undefined);
    try {
      const asked = ['SENTINEL', 'get-master-addr-by-name', sentinels.service];
      const [host, port] = (await firstAnswer<string[] | null>(client, asked, CONNECT_MS)) ?? [];
      if (host !== undefined && port !== undefined) return { host, port: Number(port) };
      why = `the Sentinel ${node.host}:${node.port} knows no ${sentinels.service}`;
    } catch (error) {
      why = `the Sentinel ${node.host}:${node.port}: ${asError(error).message}`;
    } finally {
      if (client.isOpen) client.destroy();
    }
  }
  throw new Error(why);
}

/** What TLS needs of the machine. @throws Error when a file cannot be read */
export function tlsFiles({ caFile, certFile, keyFile }: ValkeyTls): {
  ca?: Buffer;
  cert?: Buffer;
  key?: Buffer;
} {
  return {
    ...(caFile === null ? {} : { ca: watchedBytes(caFile) }),
    ...(certFile === null ? {} : { cert: watchedBytes(certFile) }),
    ...(keyFile === null ? {} : { key: watchedBytes(keyFile) }),
  };
}

type Login = Pick<ValkeySettings, 'tls' | 'username' | 'password' | 'database'>;

/** So that Redis 6 and all its relatives can be used. */
const PROTOCOL = { RESP: 2 } as const;

/**
 * Makes clients of one class. The library's `createClient` makes a class with a method for each command of Redis every time:
 * 30 to 70 ms in which nothing else runs, at each attempt to connect.
 */
const newClient = RedisClient.factory(PROTOCOL);

function clientFor({ host, port }: ValkeyNode, login: Login): ReturnType<typeof newClient> {
  const { tls, username, password, database } = login;
  const socket = { host, port, connectTimeout: CONNECT_MS, reconnectStrategy: false as const };
  // RFC 6066 section 3: no address is a server name.
  const named = isIP(host) === 0 ? { servername: host } : {};
  return newClient({
    ...PROTOCOL, // each client reads it again
    socket: tls === null ? socket : { ...socket, tls: true, ...named, ...tlsFiles(tls) },
    ...(username === null ? {} : { username }),
    ...(password === null ? {} : { password: password.reveal() }),
    database,
    disableOfflineQueue: true,
    commandsQueueMaxLength: MOST_UNANSWERED,
    commandOptions: { timeout: 0 }, // ours is on the answer; the library's costs an AbortSignal a command
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
  const isWritable = of('role') !== 'slave';
  return {
    runId: of('run_id'),
    version,
    isWritable,
    evicts: isBounded && policy !== 'noeviction' ? policy : null,
  };
}
