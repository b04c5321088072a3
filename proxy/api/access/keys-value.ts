// The value of a key: how it is made, how it is named, how a caller says which key is meant. Only the SHA-256 and the last four
// characters are ever stored.
//
// Form: `sk-` and 48 letters and digits. Clients of the dialect expect `sk-`. Secret scanners know the whole form: Nosey
// Parker's rule np.openai.1 is `\b(sk-[a-zA-Z0-9]{48})\b` (crates/noseyparker/data/default/builtin/rules/openai.yml), and
// gitleaks' `generic-api-key` takes it behind words such as `api_key` (config/gitleaks.toml). No `-` or `_`, which base64url has:
// that rule would not match, and a double click would select a part.
import { hash, randomBytes } from 'node:crypto';
import type { AccessDirectory } from '../../access/objects/directory.ts';
import type { VirtualKey } from '../../access/objects/objects.ts';
import { invalid } from './refusals.ts';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
/** 48 characters of 62 are 285 bits. */
const CHARS = 48;
/** Bytes from here on would make some characters likelier than others. */
const EVEN = 256 - (256 % ALPHABET.length);
/** Of keys that callers choose; LiteLLM asks for the same. */
const FEWEST_CHARS = 16;
const MOST_CHARS = 500;
const DIGEST = /^[0-9a-f]{64}$/i;

/** A new key. */
export function newKeyValue(): string {
  let value = 'sk-';
  while (value.length < CHARS + 3) {
    for (const byte of randomBytes(CHARS)) {
      if (byte < EVEN && value.length < CHARS + 3) value += ALPHABET[byte % ALPHABET.length];
    }
  }
  return value;
}

export const digestOf = (value: string): string => hash('sha256', value, 'hex');

/** What people tell a key by. */
export const displayName = (value: string): string => `sk-...${value.slice(-4)}`;

/** A key that a caller chose. @throws Refusal; its text has nothing of the value */
export function checkChosenValue(value: string): void {
  if (!value.startsWith('sk-'))
    throw invalid("Invalid key format. A virtual key must start with 'sk-'.", 'key');
  if (value.length < FEWEST_CHARS || value.length > MOST_CHARS)
    throw invalid(`Invalid key format. A key must have ${FEWEST_CHARS} to ${MOST_CHARS} characters.`, 'key');
  if (!/^[\x21-\x7e]+$/.test(value))
    throw invalid('Invalid key format. A key is sent in a header: printable ASCII without spaces.', 'key');
}

/** Whether a text can be a key or its hash. */
export const isKeyOrDigest = (text: string): boolean => text.startsWith('sk-') || DIGEST.test(text);

/** The key that is meant by its value or its SHA-256. Also by the value it had until a moment ago. */
export function keyNamed(text: string, directory: AccessDirectory, nowMs: number): VirtualKey | null {
  return directory.keyOfCredential(DIGEST.test(text) ? text.toLowerCase() : digestOf(text), nowMs);
}
