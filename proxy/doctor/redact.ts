// Takes secrets out of what the doctor prints: the keys of the configuration in any spelling, whatever looks like a key,
// credentials and queries of URLs, control characters. Gateways repeat keys in their messages, so that every text goes
// through here.
import { Buffer } from 'node:buffer';
import type { Secret } from '../../config/secret.ts';
import type { Outcome } from './finding.ts';

const MASK = '[secret]';
const KEY_LIKE = /(?<![A-Za-z0-9])(?:(?:sk|pk|rk|gsk|xai|ghp|glpat)[-_]|AKIA|AIza|eyJ)[\w.*-]{6,}/g;
const AFTER_WORD = /\b(bearer|api[-_ ]?key["']?\s*[:=])\s*["']?(?!os\.environ)[^\s"',;)}\]]{6,}/gi;
const BASIC = /\bbasic\s+[A-Za-z0-9+/]{12,}={0,2}/gi;
const LONG_TOKEN = /\b(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9_]{32,}\b/g;
const URL_SECRETS = /\b([a-z][a-z0-9+.-]*:\/\/)[^\s/@"'<>]*@/gi;
const QUERY = /((?:https?:\/\/|\/)[^\s?"'<>]*)\?[^\s"'<>)]*/gi;
const CONTROL = /[\p{Cc}\p{Cf}\s]+/gu;
/** A shorter key would be found in common words. */
const SHORTEST = 6;
const LONGEST_SEEN = 400;

/** Of something that was encoded: what a text breaks into. */
const WORD = /[^\s"'<>()]{6,}/g;
/** Encodings within encodings that are looked into. */
const MOST_ROUNDS = 3;

export class Redactor {
  /** The keys as they are; letters of either case. */
  readonly #plain: readonly RegExp[];
  /** The same, and in hexadecimal and base64, folded. */
  readonly #spellings: readonly string[];

  constructor(secrets: readonly Secret[]) {
    const texts = secrets.map((secret) => secret.reveal());
    const bare = texts.flatMap((text) => [text, text.trim(), text.replace(/^(?:bearer|basic)\s+/i, '')]);
    const known = [...new Set(bare)]
      .filter((text) => text.length >= SHORTEST)
      .sort((a, b) => b.length - a.length);
    this.#plain = known.map((text) => new RegExp(text.replaceAll(/[^\w\s]/g, String.raw`\$&`), 'gi'));
    this.#spellings = [...new Set(known.flatMap(spellingsOf))];
  }

  text(text: string): string {
    let clean = text.replaceAll(CONTROL, ' ').trim();
    for (const secret of this.#plain) clean = clean.replaceAll(secret, MASK);
    return clean
      .replaceAll(WORD, (word) => (this.#isIn(word) ? MASK : word))
      .replaceAll(URL_SECRETS, '$1')
      .replaceAll(QUERY, '$1')
      .replaceAll(AFTER_WORD, `$1 ${MASK}`)
      .replaceAll(BASIC, `basic ${MASK}`)
      .replaceAll(KEY_LIKE, MASK)
      .replaceAll(LONG_TOKEN, MASK);
  }

  /** Percent signs, escapes of JSON and of HTML, several times over. */
  #isIn(word: string): boolean {
    let text = word;
    for (let round = 0; round <= MOST_ROUNDS; round += 1) {
      const folded = foldedOf(text);
      if (this.#spellings.some((spelling) => folded.includes(spelling))) return true;
      const decoded = decodedOf(text);
      if (decoded === text) return false;
      text = decoded;
    }
    return false;
  }

  outcome(outcome: Outcome): Outcome {
    const { check } = outcome;
    const subject = this.text(outcome.subject);
    if (outcome.status === 'passed') return { ...outcome, check, subject, seen: this.#short(outcome.seen) };
    if (outcome.status === 'skipped')
      return { ...outcome, check, subject, because: this.#short(outcome.because) };
    const { finding } = outcome;
    return {
      ...outcome,
      check,
      subject,
      finding: {
        ...finding,
        subject: this.text(finding.subject),
        seen: this.#short(finding.seen),
        fix: this.text(finding.fix),
      },
    };
  }

  #short(text: string): string {
    const clean = this.text(text);
    return clean.length <= LONGEST_SEEN ? clean : `${clean.slice(0, LONGEST_SEEN)} ...`;
  }
}

/** Full-width letters are letters (https://unicode.org/reports/tr15/), and base64 has two alphabets. */
const foldedOf = (text: string): string =>
  text.normalize('NFKC').toLowerCase().replaceAll('-', '+').replaceAll('_', '/');

function spellingsOf(secret: string): string[] {
  const bytes = Buffer.from(secret, 'utf8');
  return [secret, bytes.toString('hex'), ...[0, 1, 2].map((offset) => base64At(bytes, offset))]
    .filter((text) => text.length >= SHORTEST)
    .map(foldedOf);
}

/** How it looks in the base64 of a longer text that has it `offset` bytes behind a group of three; without the ends, which
 * depend on what stands beside it. */
function base64At(bytes: Buffer, offset: number): string {
  const text = Buffer.concat([Buffer.alloc(offset), bytes])
    .toString('base64')
    .replaceAll('=', '');
  const end = (offset + bytes.length) % 3 === 0 ? text.length : -1;
  return text.slice([0, 2, 3][offset], end);
}

const character = (code: number): string => (code <= 0x10_ff_ff ? String.fromCodePoint(code) : '');

function decodedOf(text: string): string {
  return text
    .replaceAll(/(?:%[0-9a-f]{2})+/gi, (run) => Buffer.from(run.replaceAll('%', ''), 'hex').toString('utf8'))
    .replaceAll(/\\(?:u|x)\{?([0-9a-f]{2,6})\}?/gi, (_, hex: string) => character(Number.parseInt(hex, 16)))
    .replaceAll(/&#x([0-9a-f]{1,6});?/gi, (_, hex: string) => character(Number.parseInt(hex, 16)))
    .replaceAll(/&#(\d{1,7});?/g, (_, digits: string) => character(Number(digits)));
}
