// Calls of the management API, as a client makes them: with the header that platforms use, answers read as JSON.
import { send, KEY, type Rig } from './rig.ts';

export type Json = Readonly<Record<string, unknown>>;

export interface Managed {
  readonly status: number;
  readonly text: string;
  readonly json: Json;
}

/** One call. @param key another than the master key */
export async function manage(
  rig: Pick<Rig, 'url'>,
  call: string,
  body?: unknown,
  key: string = KEY,
): Promise<Managed> {
  const [method = '', path = ''] = call.split(' ');
  const { status, text } = await send(rig.url, method, path, body, {
    authorization: '',
    'x-goog-api-key': key,
  });
  return { status, text, json: JSON.parse(text) as Json };
}

/** A call that must succeed. */
export async function managed(
  rig: Pick<Rig, 'url'>,
  call: string,
  body?: unknown,
  key: string = KEY,
): Promise<Json> {
  const answer = await manage(rig, call, body, key);
  if (answer.status !== 200) throw new Error(`${call} answered ${answer.status}: ${answer.text}`);
  return answer.json;
}

/** A new key. */
export async function newKey(rig: Pick<Rig, 'url'>, body: Json): Promise<string> {
  const { key } = await managed(rig, 'POST /key/generate', body);
  return String(key);
}

/** Members of rows. */
export const list = (value: unknown): readonly Json[] => value as readonly Json[];
