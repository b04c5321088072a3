// Responses that the proxy makes itself: faults and small JSON documents. Upstream responses do not pass here.
import type { Dialect } from '../../config/dialect.ts';
import type { Fault } from '../errors/fault.ts';
import { OPENAI_ERRORS } from '../protocols/errors.ts';
import type { ErrorShape } from '../protocols/protocol.ts';
import { responseHeaderNames } from '../headers/response-header-names.ts';
import type { Exchange } from './exchange.ts';

/**
 * Sends a fault as a JSON error, unless the client has gone or a response has begun.
 * @param shape of the protocol that the client speaks
 */
export function sendFault(
  x: Exchange,
  fault: Fault,
  shape: ErrorShape = OPENAI_ERRORS,
  extra: readonly string[] = [],
): void {
  const { res } = x;
  if (res.headersSent || res.destroyed) {
    res.destroy();
    return;
  }
  const list = [x.active.headerNames.errorSource, fault.source, ...extra];
  for (const [name, value] of fault.headers) list.push(name, value);
  send(x, fault.status, 'application/json', shape.body(fault), list);
}

/** Sends a JSON document. */
export function sendJson(x: Exchange, value: unknown, status = 200): void {
  send(x, status, 'application/json', Buffer.from(JSON.stringify(value)), []);
}

/** Sends prepared bytes. */
export function sendBytes(x: Exchange, type: string, body: Buffer): void {
  send(x, 200, type, body, []);
}

/** Sends a response that has no body by its status: 204, 304. */
export function sendEmpty(x: Exchange, status: 204 | 304, headers: readonly string[]): void {
  if (x.res.headersSent || x.res.destroyed) return;
  x.res.writeHead(status, [...headers, ...callHeaders(x)]);
  x.res.end();
}

/** Sends a whole response with its own header list, flat. */
export function sendResponse(x: Exchange, status: number, headers: readonly string[], body: Buffer): void {
  if (x.res.headersSent || x.res.destroyed) return;
  const list = [...headers, 'content-length', String(body.length)];
  list.push(...callHeaders(x));
  x.res.writeHead(status, list);
  x.res.end(x.req.method === 'HEAD' ? null : body);
}

function send(x: Exchange, status: number, type: string, body: Buffer, extra: readonly string[]): void {
  const list = ['content-type', type, 'content-length', String(body.length)];
  list.push(...callHeaders(x), ...extra);
  x.res.writeHead(status, list);
  x.res.end(x.req.method === 'HEAD' ? null : body);
}

/** In the form of RFC 9562 section 4. */
const UUID = /^[\da-f]{8}-[\da-f]{4}-[1-8][\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/i;

/** What every response carries: the id of the call, and CORS headers where they are configured. Flat. */
export function callHeaders(x: Exchange): string[] {
  const { headers, active, id } = x;
  const { callId, requestId } = active.headerNames;
  const theirs = headers.callId;
  const ids = theirs !== null && UUID.test(theirs) ? [callId, theirs, requestId, id] : [callId, id];
  return active.snapshot.cors === null ? ids : [...ids, ...corsHeaders(x)];
}

/** CORS headers for an allowed origin; none unless configured. Flat list. */
export function corsHeaders(x: Exchange): string[] {
  const { cors } = x.active.snapshot;
  if (cors === null) return [];
  const origin = x.req.header('origin');
  if (origin === null) return [];
  const any = cors.allowOrigins.includes('*');
  if (!any && !cors.allowOrigins.includes(origin)) return ['vary', 'origin'];
  return [
    'access-control-allow-origin',
    any ? '*' : origin,
    'access-control-expose-headers',
    '*',
    'vary',
    'origin',
  ];
}

/** A response as raw bytes, for input that is not an HTTP request. */
export function rawResponse(dialect: Dialect, fault: Fault): string {
  const body = OPENAI_ERRORS.body(fault);
  return (
    `HTTP/1.1 ${fault.status} ${fault.code}\r\ncontent-type: application/json\r\n` +
    `content-length: ${body.length}\r\n${responseHeaderNames(dialect).errorSource}: ${fault.source}\r\n` +
    `connection: close\r\n\r\n${body.toString()}`
  );
}
