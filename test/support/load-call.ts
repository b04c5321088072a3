// A call of a load: sent over a shared agent, named by its session, and judged by its end alone.
import { request as httpRequest, type Agent } from 'node:http';
import { KEY } from './rig.ts';

/** `whole`: complete and good; `refused`: another status than 200; `broken`: cut, or never answered. */
export type CallEnd = 'whole' | 'refused' | 'broken';

export interface LoadCall {
  readonly agent: Agent;
  readonly port: number;
  readonly session: string;
  readonly model: string;
  readonly stream: boolean;
  /** Called with each piece of the answer; true leaves in the middle. */
  readonly onBytes?: () => unknown;
  /** Called before an end that is not `whole`. */
  readonly onProblem?: (why: string) => void;
}

/** Sends a chat call and settles with its end; never rejects. */
export function sendLoadCall(call: LoadCall): Promise<CallEnd> {
  const { agent, port, session, model, stream, onBytes, onProblem } = call;
  const messages = [{ role: 'user', content: 'one two three four five six' }];
  const payload = JSON.stringify({ model, stream, messages });
  const headers = {
    authorization: `Bearer ${KEY}`,
    'content-type': 'application/json',
    'content-length': String(payload.length),
    'x-litellm-session-id': session,
  };
  return new Promise((resolve) => {
    const req = httpRequest(
      { agent, port, host: '127.0.0.1', method: 'POST', path: '/v1/chat/completions', headers },
      (res) => {
        let tail = '';
        res.on('data', (chunk: Buffer) => {
          tail = (tail + chunk.toString('latin1')).slice(-200);
          if (onBytes?.() === true) req.destroy();
        });
        res.on('error', ({ message }) => {
          onProblem?.(`${message} after ${tail}`);
          resolve('broken');
        });
        res.on('end', () => {
          const isWhole = !stream || tail.includes('[DONE]');
          const outcome = isWhole ? 'whole' : 'broken';
          if (res.statusCode !== 200 || !isWhole) onProblem?.(`${res.statusCode} ${tail}`);
          resolve(res.statusCode === 200 ? outcome : 'refused');
        });
      },
    );
    req.on('error', ({ message }) => {
      onProblem?.(`${message}, ${req.reusedSocket ? 'on a reused connection' : 'on a fresh connection'}`);
      resolve('broken');
    });
    req.end(payload);
  });
}
