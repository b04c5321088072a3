// Who is signed in. The cookie is the server's and no script reads it; the page forgets a key as soon as it was sent.
import { messageOf } from '../base/message.ts';
import { computed, signal } from '@preact/signals';
import { ApiError, call, get, takenUp, whenExpired } from '../api/client.ts';
import { forgetAll, refreshAll } from '../api/resource.ts';
import type { Features, Permission, Permissions, Role, SessionAnswer, SignIn, Who } from '../api/types.ts';
import { place } from '../base/router.ts';
import { API_BASE } from '../base/urls.ts';
import { t } from '../text/index.ts';
import { forgetToasts, toast } from '../ui/toast.tsx';

const PATH = 'ui/session';

/** The tabs of this browser that show this page: they share the cookie, and none of them hears of it when it is gone. */
const tabs = new BroadcastChannel(`throughline ${API_BASE.pathname}`);

export type SignedOutWhy = 'none' | 'expired' | 'idle' | 'revoked' | 'left';

export interface SignedOut {
  readonly is: 'out';
  readonly why: SignedOutWhy;
  readonly signIn: SignIn;
  readonly isSecure: boolean;
}

export interface SignedIn {
  readonly is: 'in';
  readonly who: Who;
  readonly role: Role;
  readonly may: Permissions;
  readonly has: Features;
  readonly platformUsers: readonly string[];
  readonly version: string;
  readonly isSecure: boolean;
  readonly signIn: SignIn;
  /** The session is over, but the page is as it was: the same person signs in above it and goes on. null = it is not over. */
  readonly ended: SignedOut | null;
}

export type Session =
  | { readonly is: 'asking' }
  /** The proxy does not answer. */
  | { readonly is: 'away'; readonly error: ApiError }
  | SignedOut
  | SignedIn;

export const session = signal<Session>({ is: 'asking' });

/** Whether the one who is signed in may see or do something. */
export function may(what: Permission): boolean {
  const state = session.value;
  return state.is === 'in' && state.may[what];
}

/** What this proxy has switched on. */
export const features = computed<Features | null>(() =>
  session.value.is === 'in' ? session.value.has : null,
);

function stateOf(answer: SessionAnswer, why: SignedOutWhy): SignedIn | SignedOut {
  const { who, role, may, has } = answer;
  const isSecure = answer.secure || window.isSecureContext;
  const signIn = answer.sign_in;
  if (
    !answer.signed_in ||
    who === undefined ||
    role === undefined ||
    may === undefined ||
    has === undefined
  ) {
    return { is: 'out', why: answer.reason ?? why, signIn, isSecure };
  }
  return {
    is: 'in',
    who,
    role,
    may,
    has,
    platformUsers: answer.platform_users ?? [],
    version: answer.console.version,
    isSecure,
    signIn,
    ended: null,
  };
}

/** Two sessions with one of these are one person's: what one has typed, the other may see. */
export function personOf({ kind, name, user_id: user, key_hash: key }: Who): string {
  return JSON.stringify([kind, name, user, key]);
}

function took(answer: SessionAnswer, why: SignedOutWhy): void {
  const before = session.peek();
  const now = stateOf(answer, why);
  // Who was shut out leaves nothing behind; a session that ran out is taken up again.
  if (now.is === 'out' && before.is === 'in' && now.why !== 'revoked') {
    session.value = { ...before, ended: before.ended ?? now };
    return;
  }
  const isSame = before.is === 'in' && now.is === 'in' && personOf(before.who) === personOf(now.who);
  if (!isSame) forget();
  session.value = now;
  if (!isSame || before.ended === null) return;
  takenUp.value += 1;
  void refreshAll('');
}

/** What was read and said is of somebody who is gone. */
function forget(): void {
  forgetAll();
  forgetToasts();
}

/** Asks who is signed in. */
export async function askSession(why: SignedOutWhy = 'none'): Promise<void> {
  const asked = session.peek();
  try {
    const answer = await get<SessionAnswer>(PATH);
    // Somebody has signed in or out meanwhile: the answer may be of the time before.
    if (session.peek() === asked) took(answer, why);
  } catch (thrown) {
    if (session.peek() !== asked) return;
    // Who was signed in stays so, and what they have typed: pages say by themselves that nothing answers.
    if (asked.is === 'in') return;
    const error = thrown instanceof ApiError ? thrown : new ApiError(messageOf(thrown), 0);
    session.value = { is: 'away', error };
  }
}

/** @throws ApiError: the key is wrong, tried too often, may not sign in */
export async function signIn(key: string): Promise<void> {
  const { data } = await call<SessionAnswer>('POST', PATH, { body: { key }, isLogin: true });
  if (data === null) await askSession();
  else took(data, 'none');
}

export async function signOut(): Promise<void> {
  try {
    await call('DELETE', PATH, { isLogin: true });
  } catch (thrown) {
    toast(t().shell.stillIn(messageOf(thrown)), 'bad');
    return;
  }
  tabs.postMessage('left');
  await leave();
}

/** The session was signed out, here or in another tab. Nothing of it waits for an answer: the proxy may be away by now. */
async function leave(): Promise<void> {
  const before = session.peek();
  if (before.is !== 'in') return;
  const { signIn, isSecure } = before;
  forget();
  session.value = { is: 'out', why: 'left', signIn, isSecure };
  await askSession('left'); // the ways to sign in may be others by now
}

/** Whether the proxy answers now. */
export async function answers(): Promise<boolean> {
  try {
    await get<SessionAnswer>(PATH);
    return true;
  } catch {
    return false;
  }
}

/** How often an active user's session is renewed. */
const RENEWED_MS = 60_000;

/** Whether there is a session that has not ended. */
export function isRunning(): boolean {
  const state = session.peek();
  return state.is === 'in' && state.ended === null;
}

/** From here on a lost session shows the sign-in form, and what a person does keeps the session. */
export function watchSession(): void {
  let isAsking = false;
  whenExpired(() => {
    if (isAsking || !isRunning()) return;
    isAsking = true;
    void askSession('expired').finally(() => {
      isAsking = false;
    });
  });
  tabs.addEventListener('message', () => void leave());
  let renewedMs = Date.now();
  const act = (): void => {
    if (!isRunning() || Date.now() - renewedMs < RENEWED_MS) return;
    renewedMs = Date.now();
    void askSession('expired');
  };
  for (const event of ['click', 'keydown'] as const) window.addEventListener(event, act, { passive: true });
}

/** Where a provider's login begins; it comes back to this place. */
export function providerHref(path: string): string {
  const { page, params } = place.value;
  const query = params.size === 0 ? '' : `?${params}`;
  return `../${path}?${new URLSearchParams({ to: `${page}${query}` })}`;
}
