// How a response is ended towards the client: in one piece when it was gathered, with an error event when its stream
// broke. Decides by the relay's last stage and nothing else.
import { Buffer } from 'node:buffer';
import type { Secret } from '../../config/secret.ts';
import type { Fault } from '../errors/fault.ts';
import { withAskedModel } from '../protocols/asked-model.ts';
import type { ErrorShape, Protocol } from '../protocols/protocol.ts';
import { concealed } from './conceal-key.ts';
import { codingOf } from './content-coding.ts';
import type { Ending, RelayEnd } from './outcome.ts';
import type { Flowing, Gathering, Stage, State, Unsent } from './relay-state.ts';
import type { ResponseSink } from './response-sink.ts';
import type { Tap } from './tap.ts';
import type { UpstreamRequest } from './upstream-request.ts';

/** A client that does not read the error event is cut off all the same. */
const EVENT_MS = 5_000;
/** fetch() drops what its caller has not read yet when the connection breaks; who has read the event leaves by itself. */
const READING_MS = 250;
/** The same when the proxy stops: every client is told at once, so each one gets its turn late. */
const STOPPED_READING_MS = 1_000;

/** What is said to the client beside the upstream's bytes. */
interface FinishParts {
  /** Makes the head of a response, with these headers more (flat). */
  writeHead(unsent: Unsent, more: readonly string[]): void;
  readonly request: Told;
}

/** What of a request says how its client is told of a fault. */
type Told = Pick<UpstreamRequest, 'errors' | 'translated'>;

/**
 * The client stands between two events of a stream. One whose stream is translated always does: it gets whole events, or
 * nothing of what cannot be read.
 */
const takesEvent = ({ streams, opaque }: Tap, { translated }: Told): boolean =>
  streams && (!opaque || translated !== null);

/** Sends the rest of a response, or breaks the connection when it is not whole. @param stage the relay's last one */
export function finishResponse(sink: ResponseSink, stage: Stage, ending: Ending, own: FinishParts): void {
  const { end, fault, readOn } = ending;
  const isGone = end === 'client_gone' || sink.destroyed;
  const isKept = sink.keeps && (end !== 'client_gone' || readOn === 'whole');
  if (stage.is === 'flowing') {
    if (!isGone && end !== 'stopped') endFlowing(sink, stage, fault, own.request);
  } else if (stage.is === 'gathering' || stage.is === 'holding') {
    if (!isGone || isKept) sendWhole(sink, stage, own);
  }
}

/**
 * Tells a client in the middle of its response that the proxy stops. Before the record is settled, because counting the
 * tokens of many broken streams takes seconds, and the process may not have them.
 */
export function tellStopped(sink: ResponseSink, state: State, fault: Fault | null, request: Told): void {
  if (state.is !== 'flowing' || fault === null || sink.destroyed) return;
  const { tap } = state.response;
  if (takesEvent(tap, request)) endWithError(sink, request.errors, fault, tap, STOPPED_READING_MS);
  else sink.destroy();
}

function endFlowing(
  sink: ResponseSink,
  { response, lastPiece }: Flowing,
  fault: Fault | null,
  request: Told,
): void {
  const { tap } = response;
  if (fault === null) sink.end(lastPiece);
  else if (takesEvent(tap, request)) endWithError(sink, request.errors, fault, tap);
  else sink.destroy();
}

function sendWhole(sink: ResponseSink, unsent: Unsent, own: FinishParts): void {
  const { response, pieces } = unsent;
  const { status, tap } = response;
  if (tap.streams && status < 400) {
    own.writeHead(unsent, []);
    for (const piece of pieces) sink.write(piece);
    sink.end();
    return;
  }
  const [first] = pieces;
  const body = pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces);
  const hasNoBody = status === 204 || status === 304;
  own.writeHead(unsent, hasNoBody ? [] : ['content-length', String(body.length)]);
  sink.end(body);
}

/** Of a response that nobody has got yet: an answer gets the name that it is to state, all else loses the key of the entry. */
export function editUnsent(unsent: Unsent, end: RelayEnd, request: Edited): void {
  if (end !== 'complete') concealInUnsent(unsent, request.apiKey);
  else if (unsent.is === 'gathering' && request.observation.askedModel !== null)
    nameAskedModel(unsent, request.protocol, request.observation.askedModel);
}

/** What of a request says how a response is changed. */
type Edited = Pick<UpstreamRequest, 'apiKey' | 'protocol' | 'observation'>;

/** The events of a stream were changed by their tap. */
function nameAskedModel({ response, pieces }: Gathering, protocol: Protocol, asked: string): void {
  if (codingOf(response.head.contentEncoding) !== '') return;
  const { model } = response.tap.reading();
  if (model === null || model === asked) return;
  const named = withAskedModel(Buffer.concat(pieces), protocol.response, asked);
  if (named !== null) pieces.splice(0, pieces.length, named);
}

/** Its pieces become one, without the key of the entry. */
function concealInUnsent({ response, pieces }: Unsent, key: Secret | null): void {
  const body = concealed(Buffer.concat(pieces), response.head.contentEncoding, key);
  if (body === null) return;
  pieces.splice(0, pieces.length, body);
  response.takeAsPlain();
}

/**
 * Sends the error event of a broken stream, then breaks the connection: a broken response has no clean end. But where the event
 * is a terminal one, its readers read on to the end, and SDKs would throw the cut away with what the event says.
 * @param tap of the events before, which may have numbers; null: the errors count by themselves
 */
export function endWithError(
  sink: ResponseSink,
  errors: ErrorShape,
  fault: Fault,
  tap: Tap | null = null,
  readingMs = READING_MS,
): void {
  const event = errors.event(fault, tap?.reading().nextNumber);
  const cut = (): void => sink.destroy();
  const unread = setTimeout(cut, EVENT_MS).unref();
  sink.write(event, () => {
    clearTimeout(unread);
    // Not before the system has the event: a response that has its end is not cut any more.
    if (errors.endsStream === true) sink.end();
    else setTimeout(cut, readingMs).unref();
  });
}
