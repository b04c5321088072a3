// Decides how much of a configured text a message may repeat. A value in the wrong place may be a misplaced key, so only
// short plain words are repeated, never what looks like a key or a URL.

const PLAIN = /^[\w .,:*/+-]{1,40}$/;
const KEY_LIKE = /^(sk|pk|key|bearer|basic|gh[a-z]|xox[a-z])[-_ ]|[\w-]{32}/i;

/** `text 'abc'`, or `other text` when it may not be repeated. */
export function shownText(text: string): string {
  const plain = PLAIN.test(text) && !text.includes('://') && !KEY_LIKE.test(text);
  return plain ? `text '${text}'` : 'other text';
}

/** `'abc'`, or `this` when it may not be repeated. */
export function shownName(text: string): string {
  const shown = shownText(text);
  return shown === 'other text' ? 'this' : shown.slice('text '.length);
}
