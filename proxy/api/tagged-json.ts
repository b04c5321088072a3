// JSON with an ETag (RFC 9110 section 8.8.3), so that an open page of the console that asks again costs little.
import { hash } from 'node:crypto';
import type { Exchange } from '../pipeline/exchange.ts';
import { sendEmpty, sendResponse } from '../pipeline/respond.ts';

export const etagOf = (content: string | Buffer): string =>
  `"${hash('sha256', content, 'base64url').slice(0, 22)}"`;

/** 304 for whoever has it. */
export function sendTagged(x: Exchange, value: object): void {
  const body = Buffer.from(JSON.stringify(value));
  sendTaggedBytes(x, body, etagOf(body));
}

/** The same of JSON that is there already. @param etag of what is news in it, where a part changes by itself */
export function sendTaggedBytes(x: Exchange, body: Buffer, etag: string): void {
  const headers = ['cache-control', 'no-cache, private', 'etag', etag];
  if (x.req.header('if-none-match') === etag) return sendEmpty(x, 304, headers);
  const types = ['content-type', 'application/json', 'x-content-type-options', 'nosniff'];
  sendResponse(x, 200, [...types, ...headers], body);
}
