// An upper estimate of the tokens of a request, from its bytes as they came: some 2 ns a byte, no JSON is built. Tokenizers differ,
// so it stays above what o200k_base says of prose, code, numbers, base64 and scripts (measured: 1.0 to 6 times as many); JSON
// syntax is counted as if it were read. Pictures and files count by rules of their own, not by the length of their base64.

/** An image in high detail: 1,536 patches at a factor of 1.62 (platform.openai.com/docs/guides/images-vision); others cost less. */
export const IMAGE_TOKENS = 2_500;
/** Base64 of documents and sound: a page of a PDF has 2,000 tokens or less in 16 KB or more. */
const FILE_BYTES_PER_TOKEN = 8;
/** A run of base64 as long as this is data, not text that somebody wrote. */
const DATA_BYTES = 4_096;
/** Where the type of the data is named: `"media_type":"image/png","data":"...` or `data:image/png;base64,...`. */
const BEFORE_DATA = 256;

const OTHER = 0;
const LOWER = 1;
const UPPER = 2;
const DIGIT = 3;
const SPACE = 4;
/** Of characters that a token holds one of, or of which some take two, three, four. */
const ONE = 5;
const TWO = 6;
const THREE = 7;
const FOUR = 8;
const CONTINUATION = 9;

const CLASSES = new Uint8Array(256).map((_, byte) => {
  if (byte >= 0x61 && byte <= 0x7a) return LOWER;
  if (byte >= 0x41 && byte <= 0x5a) return UPPER;
  if (byte >= 0x30 && byte <= 0x39) return DIGIT;
  if (byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d) return SPACE;
  if (byte >= 0xf0) return FOUR;
  // Ethiopic, Cherokee, Khmer; Yi; private use and odd forms.
  if (byte >= 0xe0) return byte === 0xe1 || byte === 0xea || byte >= 0xee ? THREE : TWO;
  if (byte >= 0xc0) return isCommonPair(byte) ? ONE : TWO;
  return byte >= 0x80 ? CONTINUATION : OTHER;
});

/** Latin, Greek, Cyrillic, Hebrew, Arabic; not combining marks and the rest. */
function isCommonPair(lead: number): boolean {
  return lead <= 0xc5 || (lead >= 0xce && lead <= 0xd1) || (lead >= 0xd7 && lead <= 0xd9);
}

/** Bytes of one class that a token holds at least, in the long run: small words are whole, random letters are not. */
const IN_ONE: readonly number[] = [1, 3, 1.5, 2];
/** Longer runs of small letters are no words. */
const LONGEST_WORD = 12;
const RANDOM_LETTERS_IN_ONE = 1.8;

const BASE64 = new Uint8Array(256).map((_, byte) => {
  const kind = CLASSES[byte];
  const isSign = byte === 0x2b || byte === 0x2f || byte === 0x2d || byte === 0x5f || byte === 0x3d;
  return kind === LOWER || kind === UPPER || kind === DIGIT || isSign ? 1 : 0;
});

export function promptTokensAtMost(body: Buffer): number {
  let tokens = imagesIn(body) * IMAGE_TOKENS;
  let at = 0;
  while (at < body.length) {
    const data = nextData(body, at);
    tokens += textTokens(body, at, data.start);
    if (data.end > data.start && !isImage(body, data.start))
      tokens += Math.ceil((data.end - data.start) / FILE_BYTES_PER_TOKEN);
    at = data.end;
  }
  return Math.ceil(tokens);
}

/** Each search of the whole body takes as long as counting a tenth of its tokens, so names that begin alike share one. */
function imagesIn(body: Buffer): number {
  let found = 0;
  if (body.includes(IMAGE)) found += count(body, '"image_url"', isKey) + count(body, '"image"', () => true);
  if (body.includes(INLINE))
    found += count(body, '"inlineData"', isKey) + count(body, '"inline_data"', isKey);
  return found + (body.includes(FILE_DATA) ? count(body, '"fileData"', isKey) : 0);
}

const IMAGE = Buffer.from('"image');
const INLINE = Buffer.from('"inline');
const FILE_DATA = Buffer.from('"fileData"');

/** The next long run of base64, or an empty one at the end. Looks at one byte in `DATA_BYTES` where there is none. */
function nextData(body: Buffer, from: number): { readonly start: number; readonly end: number } {
  let probe = from + DATA_BYTES - 1;
  while (probe < body.length) {
    let start = probe;
    while (start >= from && BASE64[body[start] ?? 0] === 1) start -= 1;
    start += 1;
    let end = probe;
    if (start <= probe) while (end < body.length && BASE64[body[end] ?? 0] === 1) end += 1;
    if (end - start >= DATA_BYTES) return { start, end };
    probe = Math.max(end, probe) + DATA_BYTES;
    if (start > probe - DATA_BYTES) probe = start + DATA_BYTES - 1;
  }
  return { start: body.length, end: body.length };
}

/** Counted already, by its part. */
function isImage(body: Buffer, start: number): boolean {
  return body.subarray(Math.max(0, start - BEFORE_DATA), start).includes('image/');
}

function textTokens(body: Buffer, from: number, end: number): number {
  let tokens = 0;
  let last = -1;
  for (let at = from; at < end;) {
    const kind = CLASSES[body[at] ?? 0] ?? OTHER;
    const start = at;
    at += 1;
    if (kind < ONE) while (at < end && CLASSES[body[at] ?? 0] === kind) at += 1;
    const run = at - start;
    // Most runs are short words and the spaces between them.
    const isUsual = kind < ONE && run < SHORT_RUN && last !== DIGIT;
    tokens += isUsual ? (TOKENS_OF_SHORT[kind * SHORT_RUN + run] ?? 0) : tokensOf(kind, run, last);
    last = kind;
  }
  return tokens;
}

/** Of a run of bytes of one class. @param last the class before it */
function tokensOf(kind: number, run: number, last: number): number {
  switch (kind) {
    case CONTINUATION:
      return 0;
    case ONE:
    case TWO:
    case THREE:
    case FOUR:
      return kind - ONE + 1;
    case LOWER:
      if (last === DIGIT) return Math.ceil(run / RANDOM_LETTERS_IN_ONE); // an id
      return (
        Math.ceil(Math.min(run, LONGEST_WORD) / 3) + Math.max(0, run - LONGEST_WORD) / RANDOM_LETTERS_IN_ONE
      );
    case SPACE:
      return run === 1 ? 0 : Math.ceil(run / 8); // one belongs to the word behind it
    default:
      return Math.ceil(run / (IN_ONE[kind] ?? 1));
  }
}

const SHORT_RUN = 16;
/** `tokensOf` runs shorter than that, by class and length; not behind a digit. */
const TOKENS_OF_SHORT = new Float64Array(ONE * SHORT_RUN).map((_, i) =>
  tokensOf(Math.floor(i / SHORT_RUN), i % SHORT_RUN, -1),
);

/** A part of a chat is of the type `image_url` and has a member of that name: the member counts. */
function isKey(body: Buffer, end: number): boolean {
  let at = end;
  while (CLASSES[body[at] ?? 0] === SPACE) at += 1;
  return body[at] === 0x3a;
}

function count(body: Buffer, text: string, fits: (body: Buffer, end: number) => boolean): number {
  let found = 0;
  for (let at = body.indexOf(text); at >= 0; at = body.indexOf(text, at + text.length))
    if (fits(body, at + text.length)) found += 1;
  return found;
}
