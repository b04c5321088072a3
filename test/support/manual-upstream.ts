// An upstream whose every answer a test writes by itself, call by call, when it wants to.
import { EventEmitter, once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { startUpstream } from './call.ts';

/** A call that waits for its answer. */
export interface PendingCall {
  readonly model: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly res: ServerResponse;
  /** Settles when the proxy has broken the connection off, or the answer is out. */
  readonly closed: Promise<unknown>;
  /** Sends events of a stream of chat completions, the head before the first. */
  say(...deltas: readonly object[]): void;
  /** Sends the rest: the reason, the usage, `[DONE]`. */
  finish(usage?: object): void;
  /** Breaks the connection off once all that was said is on its way. */
  cut(): void;
  /** Answers with JSON. */
  json(status: number, body: object): void;
}

export interface ManualUpstream {
  readonly url: string;
  /** Calls so far, by model in the order in which they came. */
  readonly models: readonly string[];
  /** The next call for this model that no test has taken yet. */
  next(model: string): Promise<PendingCall>;
}

export async function startManualUpstream(t: {
  teardown(act: () => unknown): unknown;
}): Promise<ManualUpstream> {
  const waiting: PendingCall[] = [];
  const models: string[] = [];
  const arrivals = new EventEmitter();
  const url = await startUpstream(t, ({ req, res, body: bytes }) => {
    if (req.method === 'GET') return void res.end('{"object":"list","data":[]}'); // a health check
    const body = JSON.parse(bytes.toString()) as Record<string, unknown>;
    const model = String(body['model']);
    models.push(model);
    const event = (choice: object, more: object = {}): string =>
      `data: ${JSON.stringify({ id: `id-${model}`, object: 'chat.completion.chunk', created: models.length, model, choices: [{ index: 0, finish_reason: null, ...choice }], ...more })}\n\n`;
    const write = (text: string): void => {
      if (!res.headersSent) res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.write(text);
    };
    waiting.push({
      model,
      body,
      res,
      closed: once(res, 'close'),
      say: (...deltas) => write(deltas.map((delta) => event({ delta })).join('')),
      finish: (usage = { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 }) => {
        write(event({ delta: {}, finish_reason: 'stop' }));
        write(
          `data: ${JSON.stringify({ id: `id-${model}`, object: 'chat.completion.chunk', created: 1, model, choices: [], usage })}\n\n`,
        );
        res.end('data: [DONE]\n\n');
      },
      cut: () => {
        if (res.headersSent) res.write(': cut\n\n', () => res.destroy());
        else res.destroy();
      },
      json: (status, answer) => {
        res.writeHead(status, { 'content-type': 'application/json' });
        res.end(JSON.stringify(answer));
      },
    });
    arrivals.emit('call');
  });
  return {
    url,
    models,
    next: async (model) => {
      for (;;) {
        const at = waiting.findIndex((call) => call.model === model);
        if (at >= 0) return waiting.splice(at, 1)[0] as PendingCall;
        await once(arrivals, 'call');
      }
    },
  };
}
