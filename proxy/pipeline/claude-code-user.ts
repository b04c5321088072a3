// What Claude Code says in `metadata.user_id`: its machine, its account and its session in one text, which so is another one with
// every session. As an end user it would be a budget and a row of reports each. Until 2.1.7x the text was
// `user_<hash>_account_<uuid>_session_<uuid>`, since then it is JSON: `{"device_id", "account_uuid", "session_id"}`. Pure.
import { ownText } from '../../config/own-text.ts';
import { parseObject } from '../bodies/json.ts';

interface ClaudeCodeUser {
  /** Of the account where it is signed in, else of the machine; the same in each of its sessions. */
  readonly user: string;
  readonly session: string;
}

/** Longer texts are none of Claude Code's. */
const MAX_TEXT = 1_024;
const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const AS_TEXT = new RegExp(`^user_([0-9a-f]{16,128})_account_(${UUID})?_session_(${UUID})$`, 'i');
const SESSION = new RegExp(`^${UUID}$`, 'i');
const DEVICE = /^[0-9a-zA-Z_-]{8,128}$/;

/** null: it is somebody else's user id, and stays as it is. */
export function claudeCodeUser(userId: unknown): ClaudeCodeUser | null {
  if (typeof userId !== 'string' || userId.length > MAX_TEXT) return null;
  const text = userId.trim();
  if (text.startsWith('{')) return asJson(text);
  const [, device = '', account, session = ''] = AS_TEXT.exec(text) ?? [];
  return session === '' ? null : { user: named(account, device), session: ownText(session) };
}

function asJson(text: string): ClaudeCodeUser | null {
  const members = parseObject(text);
  if (members === null) return null;
  const { device_id: device, account_uuid: account, session_id: session } = members;
  if (typeof device !== 'string' || !DEVICE.test(device)) return null;
  if (typeof session !== 'string' || !SESSION.test(session)) return null;
  return {
    user: named(typeof account === 'string' && SESSION.test(account) ? account : undefined, device),
    session,
  };
}

const named = (account: string | undefined, device: string): string =>
  ownText(account === undefined ? `user_${device}` : `account_${account}`);
