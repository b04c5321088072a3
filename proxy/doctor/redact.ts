// Takes secrets out of what the doctor prints: the keys of the configuration, whatever looks like a key, credentials and
// queries of URLs, control characters. Gateways repeat keys in their messages, so that every text goes through here.
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

export class Redactor {
  readonly #known: readonly string[];

  constructor(secrets: readonly Secret[]) {
    const texts = secrets.map((secret) => secret.reveal());
    const bare = texts.flatMap((text) => [text, text.trim(), text.replace(/^(?:bearer|basic)\s+/i, '')]);
    const all = bare.flatMap((text) => [text, encodeURIComponent(text)]);
    this.#known = [...new Set(all)]
      .filter((text) => text.length >= SHORTEST)
      .sort((a, b) => b.length - a.length);
  }

  text(text: string): string {
    let clean = text.replaceAll(CONTROL, ' ').trim();
    for (const secret of this.#known) clean = clean.replaceAll(secret, MASK);
    return clean
      .replaceAll(URL_SECRETS, '$1')
      .replaceAll(QUERY, '$1')
      .replaceAll(AFTER_WORD, `$1 ${MASK}`)
      .replaceAll(BASIC, `basic ${MASK}`)
      .replaceAll(KEY_LIKE, MASK)
      .replaceAll(LONG_TOKEN, MASK);
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
