// An alert as an HTTP request: the body in the receiver's format, and its signature.
import { Buffer } from 'node:buffer';
import { createHmac } from 'node:crypto';
import type { AlertChannel } from '../../../config/alert-settings.ts';
import type { Alert } from './alert.ts';

interface AlertRequest {
  /** Flat. */
  readonly headers: readonly string[];
  readonly body: Buffer;
}

/** @param nowMs the time of sending, which is signed with the body so that a receiver can refuse old ones */
export function alertRequest(
  alert: Alert,
  { format, secret }: Pick<AlertChannel, 'format' | 'secret'>,
  nowMs: number,
): AlertRequest {
  const body = JSON.stringify(format === 'slack' ? { text: slackText(alert.text) } : webhookBody(alert));
  const headers = [
    'content-type',
    'application/json',
    'user-agent',
    'throughline',
    'x-throughline-event-id',
    alert.id,
  ];
  if (secret !== null) {
    const timestamp = String(Math.floor(nowMs / 1000));
    const digest = createHmac('sha256', secret.reveal()).update(`${timestamp}.${body}`).digest('hex');
    headers.push('x-throughline-timestamp', timestamp, 'x-throughline-signature', `sha256=${digest}`);
  }
  return { headers, body: Buffer.from(body) };
}

const webhookBody = ({ id, kind, atMs, text, members }: Alert): Readonly<Record<string, unknown>> => ({
  id,
  kind,
  created_at: new Date(atMs).toISOString(),
  projected_exceeded_date: null,
  projected_spend: null,
  ...members,
  event_message: text,
});

/** Slack reads these three as markup; without them a name cannot call a channel or hide a link. */
const slackText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
