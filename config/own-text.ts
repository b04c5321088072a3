// Texts that are parts of other texts, copied.

/** V8 copies shorter parts by itself (`SlicedString::kMinLength`). */
const SHORTEST_PART = 13;

/**
 * The same text in memory of its own. V8 keeps a part of a text as a reference into the whole one, and `JSON.stringify` takes
 * up to three times as long for an object that holds such a part. Journal lines hold names out of the configuration.
 */
export function ownText(text: string): string {
  return text.length < SHORTEST_PART ? text : (JSON.parse(JSON.stringify(text)) as string);
}
