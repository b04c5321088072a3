// Faults of the console, the page for people: a part of the table in codes.ts.
import { client, proxy } from './fault-rule.ts';
import type { FaultRule } from './fault-rule.ts';

export const CONSOLE_FAULTS = {
  session_expired: client(
    401,
    'The session of the console has ended: its time is over, somebody signed out, or its key was blocked, deleted or changed.',
    'Sign in again.',
    'auth_error',
  ),
  console_not_built: client(
    404,
    'The console is on, and the files of its page are not there.',
    'Run `npm run build` in console/, or use a released package; general_settings.console.enabled: false turns it off.',
  ),
  platform_not_served: client(
    404,
    'The console asked for a path that the platform interface does not have, or there is no such interface.',
    'See docs/platform.md; the section platform of the configuration turns it on.',
  ),
  session_not_taken: client(
    403,
    'A session of the console counts only for requests that its own page sends, and changes only as JSON.',
    'Programs send a key instead of the cookie. Behind a proxy in front that changes the Host header, set general_settings.console.public_url.',
    'auth_error',
  ),
  sign_in_refused: client(
    403,
    'The key is known, and does not open the console: it is a key of a conversation, or of general_settings.inference_keys.',
    'Use the master key, a virtual key of your own, or the login of your organization.',
    'auth_error',
  ),
  too_many_sign_ins: client(
    429,
    'Too many attempts to sign in to the console have failed from this address.',
    'Wait as long as `retry-after` says.',
    'auth_error',
  ),
  too_many_listeners: proxy(
    503,
    'This server already sends rows live to as many listeners as it has places for.',
    'Ask for /spend/rows instead, or try again after `retry-after`.',
  ),
} as const satisfies Record<string, FaultRule>;
