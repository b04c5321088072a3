// From a request that has been read to the reply that is sent: finds the endpoint, checks the key, composes the answer,
// formats it and sends it. Keeps the responses that can be fetched by id.
import type { Endpoint, Face, Json, Destination } from './model-request.ts';
import { destinationOf, readModelRequest } from './model-request.ts';
import { compose } from './compose.ts';
import type { Script } from './compose.ts';
import type { ReplyTarget } from './deliver.ts';
import { send, sendWithBehaviours, beforeReply } from './deliver.ts';
import { modelEntry, modelList } from './objects.ts';
import { Recent } from './recent.ts';
import type { Refusal, Reply } from './reply.ts';
import { answerReply, bareNameReply, refusalReply, behaviourRefusal, unknownKey } from './reply.ts';
import type { StoredResponse } from './responses.ts';
import { inputItemList, storedResponse } from './responses.ts';

/** The parts of a request that decide its answer. */
interface ReceivedRequest {
  readonly id: number;
  readonly method: string;
  readonly path: string;
  readonly face: Face;
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
}

/** Replies to one request; settles when everything is written to the connection. */
type Responder = (received: ReceivedRequest, target: ReplyTarget) => Promise<void>;

const STORED_COUNT = 1_000;
const STORED_BYTES = 64 * 1024 * 1024;

/** Makes a responder; `tag` makes its ids differ from another gateway's, null keys accept every key and none. */
export function createResponder(
  tag: string,
  acceptKeys: readonly string[] | null,
  script: Script | null = null,
  serves: readonly Endpoint[] | null = null,
): Responder {
  const stored = new Recent<StoredResponse>(STORED_COUNT, STORED_BYTES);
  const credentials = acceptKeys?.map((key) => `Bearer ${key}`) ?? null;

  const aboutStored = ({ id, act }: Destination & { to: 'stored' }, face: Face): Reply => {
    const found = stored.items.findLast((item) => item.id === id);
    if (found === undefined) {
      const message = `Response with id '${id}' not found.`;
      return refusalReply(face, { status: 404, message, type: 'invalid_request_error', param: 'id' }, null);
    }
    if (act === 'get') return jsonReply(found.response);
    if (act === 'input_items') return jsonReply(inputItemList(found));
    if (act === 'cancel') return jsonReply({ ...found.response, status: 'cancelled' });
    stored.remove((item) => item === found);
    return jsonReply({ id, object: 'response', deleted: true });
  };

  return async (received, target) => {
    const { res } = target;
    const { face, body } = received;
    const destination = destinationOf(received.method, received.path);
    const refuse = (refusal: Refusal): Promise<void> => send(res, refusalReply(face, refusal, null));
    if (destination.to === 'nowhere') return refuse(nowhere(destination.status, received));
    const lacks = destination.to === 'model' && serves?.includes(destination.endpoint) === false;
    if (lacks) return refuse(nowhere(404, received));
    const { authorization = '', host = '', 'content-type': contentType = '' } = res.req.headers;
    const isKnown = credentials === null || credentials.includes(authorization);
    if (destination.to !== 'model') {
      if (!isKnown) return refuse(unknownKey());
      if (destination.to === 'stored') return send(res, aboutStored(destination, face));
      return send(res, jsonReply(destination.id === null ? modelList(face) : modelEntry(destination.id)));
    }

    const request = readModelRequest(face, destination.endpoint, contentType, body, destination.inPath);
    if (typeof request === 'string')
      return refuse({ status: 400, message: request, type: 'invalid_request_error' });
    // Before the key is looked at, as Bifrost 1.4 does it.
    if (face === 'compat' && !request.model.includes('/')) return send(res, bareNameReply());
    if (!isKnown) return send(res, refusalReply(face, unknownKey(), request));

    const isPlain = request.behaviours.size === 0;
    const withBehaviours: ReplyTarget = { ...target, behaviours: request.behaviours };
    if (!isPlain && !(await beforeReply(withBehaviours))) return;
    const echo = (): string => echoOf(received);
    const answer = compose(request, `${tag}-${received.id}`, echo, script);
    const refused = isPlain
      ? null
      : behaviourRefusal(request, answer.counts.prompt, `http://${host}/elsewhere`);
    if (refused !== null) return send(res, refused);
    if (request.endpoint === 'responses' && request.body['store'] !== false) {
      stored.add(storedResponse(answer), body.length + answer.text.length);
    }
    const reply = answerReply(answer, echo);
    return isPlain ? send(res, reply) : sendWithBehaviours(withBehaviours, reply);
  };
}

function jsonReply(body: Json): Reply {
  return { status: 200, headers: ['content-type', 'application/json'], body: JSON.stringify(body) };
}

function nowhere(status: 404 | 405, { method, path }: ReceivedRequest): Refusal {
  const message =
    status === 404
      ? `Nothing is served at ${path}: LiteLLM-like endpoints are at /v1/..., Bifrost-like ones at /compat/v1/...`
      : `${method} is not served at ${path}`;
  return { status, message, type: 'invalid_request_error' };
}

function echoOf({ method, path, rawHeaders, body }: ReceivedRequest): string {
  return JSON.stringify({ method, path, headers: rawHeaders, body: body.toString('utf8') });
}
