// Reads the body of a request to the proxy's own API as one JSON object. Bodies that go upstream are never parsed here.
import { isObject, type Json } from '../bodies/json.ts';
import { Fault } from '../errors/fault.ts';
import type { Exchange } from '../pipeline/exchange.ts';
import { callerNow } from '../pipeline/caller-for.ts';
import { readBody } from '../pipeline/read-body.ts';

/**
 * @throws Fault unsupported_media_type, body_not_json, body_not_object, and those of `readBody`
 */
export async function readObject(x: Exchange): Promise<Json> {
  const media = x.headers.contentType?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  // A browser sends other types across origins without a CORS preflight.
  if (!media.endsWith('json'))
    throw new Fault('unsupported_media_type', 'Send `content-type: application/json`.');
  const body = (await readBody(x)).bytes;
  let value: unknown;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch (cause) {
    throw new Fault('body_not_json', 'The request body is not JSON.', { cause });
  }
  if (!isObject(value)) throw new Fault('body_not_object', 'The request body must be one JSON object.');
  return value;
}

/**
 * The body of a change that administrators alone make. It may come long after its head: who calls is looked up once more.
 * @throws Fault as `readObject` and `callerNow`
 */
export async function readChange(x: Exchange): Promise<Json> {
  const body = await readObject(x);
  callerNow(x, 'admin');
  return body;
}
