// Faults of realtime sessions, in the response to the handshake or as the last event; a part of the table in codes.ts.
import { client } from './fault-rule.ts';
import type { FaultRule } from './fault-rule.ts';

export const REALTIME_FAULTS = {
  upgrade_required: client(
    426,
    'A realtime session is a WebSocket, and the request asks for none.',
    'Connect with a WebSocket client (wss://.../v1/realtime?model=...); a proxy in front must pass `Upgrade` on.',
  ),
  bad_handshake: client(
    400,
    'The opening handshake of the WebSocket is not one of RFC 6455, version 13.',
    'Use a WebSocket client; send nothing before the handshake is answered.',
  ),
  websocket_violation: client(
    400,
    'What the client sent is not the WebSocket protocol, or a binary message; the session was closed.',
    'Send events as text messages, masked, without extensions.',
  ),
  realtime_expired: client(
    408,
    'The realtime session has reached its longest duration, or nothing was sent for too long.',
    'Open another session; the operator sets realtime_max_minutes and realtime_idle_seconds.',
    'timeout_error',
  ),
  realtime_budget_used: client(
    422,
    'The realtime session has cost what it reserved of its budgets.',
    'Open another session, which reserves anew; the operator sets realtime_reserved_cost.',
    'budget_exceeded',
  ),
} as const satisfies Record<string, FaultRule>;
