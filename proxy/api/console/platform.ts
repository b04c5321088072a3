// `/ui/platform/...`: the mounted interface of the agent platform for the console, in this process: an administrator acts as one of
// its users, whose key never reaches the browser.
import { Fault } from '../../errors/fault.ts';
import { CONSOLE_PATH } from '../../pipeline/console-session.ts';
import type { Exchange } from '../../pipeline/exchange.ts';
import { sendResponse } from '../../pipeline/respond.ts';
import { askMount, holdsPath } from '../mounted.ts';

/** Names the user; default: the first one of the configuration. */
const USER_HEADER = 'x-platform-user';
const KEY_HEADER = 'x-session-api-key';
/** Of the page's headers. */
const PASSED: ReadonlySet<string> = new Set(['accept', 'content-type', 'content-length', 'if-none-match']);
/** Files of conversations are not ours: none of them runs in the name of the console. */
const CONTAINED: readonly string[] = [
  'content-security-policy',
  "default-src 'none'; sandbox",
  'x-content-type-options',
  'nosniff',
  'cache-control',
  'no-store',
];

/** @throws Fault platform_not_served, invalid_parameter */
export async function callPlatform(x: Exchange): Promise<void> {
  const { mount } = x.active.services;
  const path = x.path.slice(`${CONSOLE_PATH}/platform`.length);
  if (mount === null || !holdsPath(mount, path))
    throw new Fault('platform_not_served', 'The platform interface has no such path, or is not configured.');
  const sent = [...passed(x.headers.raw), KEY_HEADER, keyOf(x)];
  const { status, headers, body } = await askMount(x, mount, path, sent);
  sendResponse(x, status, [...withoutOwn(headers), ...CONTAINED], body);
}

function keyOf(x: Exchange): string {
  const wanted = x.req.header(USER_HEADER);
  const users = x.active.snapshot.platform?.users ?? [];
  const user = wanted === null ? users[0] : users.find(({ userId }) => (userId ?? '') === wanted);
  if (user !== undefined) return user.key.reveal();
  throw new Fault('invalid_parameter', `The platform has no user ${String(wanted).slice(0, 100)}.`, {
    param: USER_HEADER,
  });
}

function passed(raw: readonly string[]): readonly string[] {
  return raw.flatMap((name, i) =>
    i % 2 === 0 && PASSED.has(name.toLowerCase()) ? [name, raw[i + 1] ?? ''] : [],
  );
}

function withoutOwn(headers: readonly string[]): readonly string[] {
  const own = new Set(CONTAINED.filter((_, i) => i % 2 === 0));
  return headers.flatMap((name, i) =>
    i % 2 === 0 && !own.has(name.toLowerCase()) ? [name, headers[i + 1] ?? ''] : [],
  );
}
