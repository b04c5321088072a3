// Where a client's connection stands, with the data that exists there and nowhere else. connection.ts moves from one to the next.
import type { ServerResponse } from 'node:http';
import type { DownstreamRequest } from '../downstream/downstream-request.ts';
import type { DownstreamResponse, UpgradeOwner } from '../downstream/downstream-response.ts';

/** A request and its response. */
export interface Exchange {
  readonly out: ServerResponse;
  readonly request: DownstreamRequest;
  readonly response: DownstreamResponse;
}

export type State =
  | { readonly is: 'idle'; /** Bytes received when it became idle. */ readonly readBytes: number }
  | {
      readonly is: 'serving';
      readonly exchange: Exchange;
      /** Node has handed the socket over; it takes bytes that come before the handshake is answered. null: Node parses on. */
      readonly onEarly: (() => void) | null;
    }
  /** The response has ended, but the request is still arriving. */
  | { readonly is: 'discarding'; readonly exchange: Exchange; readonly timer: NodeJS.Timeout }
  /** The socket speaks another protocol. */
  | { readonly is: 'upgraded'; readonly owner: UpgradeOwner }
  /** Our side is closed; anything received is discarded. */
  | { readonly is: 'lingering'; readonly timer: NodeJS.Timeout }
  | { readonly is: 'closed' };
