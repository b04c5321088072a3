// Sends the upstream nothing about whose call it is, not even the session.
import type { GatewayMaker } from './gateway.ts';
import { plain } from './plain.ts';

export const none: GatewayMaker = (dialect) => ({ ...plain(dialect), name: 'none', session: null });
