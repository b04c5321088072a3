// Some gateways repeat the key of an entry in what they say of an error. No client gets to see it: it is overwritten with
// asterisks in headers, in bodies of errors and in error events. Answers are passed on unchanged.
import type { Buffer } from 'node:buffer';
import type { Secret } from '../../config/secret.ts';
import { inflated } from './content-coding.ts';
import type { Reading } from './tap.ts';

/** Shorter ones are stand-ins of gateways without keys, and may be words of the text. */
const LEAST_KEY_LENGTH = 12;
/** Of an error that comes compressed. */
const MOST_INFLATED_BYTES = 4_194_304;

/** As gateways write it: some write `\/` for each slash of a JSON text. Empty: there is nothing to conceal. */
function spellingsOf(key: Secret | null): readonly string[] {
  const text = key?.reveal() ?? '';
  if (text.length < LEAST_KEY_LENGTH) return NONE;
  return text.includes('/') ? [text, text.replaceAll('/', '\\/')] : [text];
}

const NONE: readonly string[] = Object.freeze([]);

/** False: the text holds it in no spelling. Every response is asked, and hardly one does, so nothing is built for the answer. */
const mayHold = (text: string, key: string): boolean =>
  text.length >= key.length && (text.includes(key) || (key.includes('/') && text.includes('\\/')));

/** Of one line. The length stays. */
export function concealInText(text: string, key: Secret | null): string {
  if (key === null || !mayHold(text, key.reveal())) return text;
  let shown = text;
  for (const spelling of spellingsOf(key)) shown = shown.replaceAll(spelling, '*'.repeat(spelling.length));
  return shown;
}

/** Likewise, of what may be missing. */
export const concealIn = (text: string | null, key: Secret | null): string | null =>
  text === null ? null : concealInText(text, key);

/** Of the texts of an answer that become part of its record. */
export function concealInReading(reading: Reading, key: Secret | null): Reading {
  const id = concealIn(reading.id, key);
  const model = concealIn(reading.model, key);
  const serviceTier = concealIn(reading.serviceTier, key);
  if (id === reading.id && model === reading.model && serviceTier === reading.serviceTier) return reading;
  // By name: of a stream it is the tap itself, whose members are getters, and a spread passes over those.
  const { usage, usageIsPartial, duration, tools = {}, isPartlyRead = false, delivered } = reading;
  return {
    usage,
    usageIsPartial,
    serviceTier,
    tools,
    duration,
    id,
    model,
    isPartlyRead,
    delivered,
  };
}

/** In place. @param list flat */
export function concealInHeaders(list: string[], key: Secret | null): void {
  const text = key?.reveal() ?? '';
  if (text.length < LEAST_KEY_LENGTH) return;
  for (let i = 1; i < list.length; i += 2) {
    const value = list[i] as string;
    if (mayHold(value, text)) list[i] = concealInText(value, key);
  }
}

/** In place; the length stays. */
export function concealInBytes(bytes: Buffer, key: Secret | null): void {
  for (const text of spellingsOf(key))
    for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + text.length))
      bytes.fill('*', at, at + text.length);
}

/** @returns null: the bytes hold no key; else what they are without it, and no longer coded */
export function concealed(bytes: Buffer, contentEncoding: string | null, key: Secret | null): Buffer | null {
  const spellings = spellingsOf(key);
  if (spellings.length === 0) return null;
  const plain = inflated(bytes, contentEncoding, MOST_INFLATED_BYTES);
  if (plain === null || !spellings.some((text) => plain.includes(text))) return null;
  concealInBytes(plain, key);
  return plain;
}
