// An upper estimate of the tokens of a request, from its bytes as they came: no JSON is built, each byte is one look-up in a table.
// Tokenizers differ, so it stays above what o200k_base says of prose, code, numbers, base64 and scripts (measured: 1.0 to 6 times
// as many); JSON syntax is counted as if it were read. Pictures and files count by rules of their own, not by the length of their
// base64.

/** An image in high detail: 1,536 patches at a factor of 1.62 (platform.openai.com/docs/guides/images-vision); others cost less. */
export const IMAGE_TOKENS = 2_500;
/** Base64 of documents and sound: a page of a PDF has 2,000 tokens or less in 16 KB or more. */
const FILE_BYTES_PER_TOKEN = 8;
/** Of a file of text: what is hard to read has 0.7 tokens a character, and four characters of base64 are three. */
const TEXT_FILE_BYTES_PER_TOKEN = 1.8;
/** A run of base64 as long as this is data where it is the value of a member that holds data. */
const DATA_BYTES = 4_096;
/** Where the type of the data is named: `"media_type":"image/png","data":"...` or `data:image/png;base64,...`. */
const BEFORE_DATA = 256;
/** In a text (a page with a picture in it, the output of a tool) every character of the data is read as text. */
const BEGINS_DATA =
  /"(?:data|url|image_url|video_url|document_url|file_data|image|mask|audio|input_audio|b64_json|encrypted_content|signature|thoughtSignature|thought_signature)"\s*:\s*"(?:data:[^"]*,)?$/;
/** What a model drew earlier, as the Responses API takes it back: `"id":"ig_...","result":"...`, in any order. */
const BEGINS_DRAWING = /"(?:id"\s*:\s*"ig_|image_generation_call")[^{}]*"result"\s*:\s*"$/;
const DATA_URL = /"data:([^"]*),$/;
/** A document of Messages may be the text itself: `"type":"text","media_type":"text/plain","data":"...`, in any order. */
const OF_TEXT = /"text(?:\/[a-z-]+)?"/;
const OF_IMAGE = /"(?:media_type|mime_type|mimeType)"\s*:\s*"image[^{}]*$/;
/** `\u0069`: letters that no encoder escapes, and whoever hides the name of a member does. */
const ESCAPED_LETTER = /(?<!\\)(?:\\\\)*\\u00[4-7]/;
const ESCAPE = /\\(?:u00([4-7][0-9a-f])|[^])/gi;

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

/** Small words are whole tokens; longer runs of small letters are no words. */
const LONGEST_WORD = 12;
/** Tokens are counted in ninths: 1.8 random letters are one. */
const NINTHS = 9;
const RANDOM_LETTER = 5;

/** Neighbouring bytes of one class. */
interface Run {
  readonly kind: number;
  readonly length: number;
  /** Small letters behind a digit are an id. */
  readonly isId: boolean;
}

/** Ninths of tokens of a run: upwards, because a token ends with its run. */
function ninthsOf({ kind, length, isId }: Run): number {
  switch (kind) {
    case LOWER:
      if (isId) return NINTHS * Math.ceil((length * RANDOM_LETTER) / NINTHS);
      return (
        NINTHS * Math.ceil(Math.min(length, LONGEST_WORD) / 3) +
        RANDOM_LETTER * Math.max(0, length - LONGEST_WORD)
      );
    case UPPER:
      return NINTHS * Math.ceil(length / 1.5);
    case DIGIT:
      return NINTHS * Math.ceil(length / 2);
    case SPACE:
      return length === 1 ? 0 : NINTHS * Math.ceil(length / 8); // one belongs to the word behind it
    case OTHER:
      return NINTHS * length;
    case CONTINUATION:
      return 0;
    default:
      return NINTHS * length * (kind - ONE + 1);
  }
}

/** From which length on a run goes on as it did so many bytes before. */
function periodOf({ kind, isId }: Run): { readonly from: number; readonly bytes: number } {
  if (kind === LOWER) return isId ? { from: 1, bytes: 9 } : { from: LONGEST_WORD + 1, bytes: 1 };
  if (kind === UPPER) return { from: 1, bytes: 3 };
  if (kind === DIGIT) return { from: 1, bytes: 2 };
  return kind === SPACE ? { from: 2, bytes: 8 } : { from: 1, bytes: 1 };
}

/** How the names begin that pictures stand under; letters behind a quote. */
const PICTURES = ['"image', '"inline', '"fileData'];

/** What the next byte of a body adds depends on this alone. */
interface Place {
  readonly run: Run;
  /** How much of one of `PICTURES` ends here. */
  readonly name: string;
}

function following({ run }: Place, kind: number, name: string): Place {
  const goesOn = kind === run.kind;
  const isId = goesOn ? run.isId : kind === LOWER && run.kind === DIGIT;
  return { run: { kind, length: goesOn ? run.length + 1 : 1, isId }, name };
}

/** The same place for all that go on alike, so that they are few. */
function settled({ run, name }: Place): Place {
  const { from, bytes } = periodOf(run);
  const length = run.length < from + bytes ? run.length : run.length - bytes;
  const kind = run.kind >= ONE ? OTHER : run.kind;
  return { run: { ...run, kind, length }, name: PICTURES.includes(name) ? '' : name };
}

const QUOTE = 0x22;
const FIRST: Place = { run: { kind: OTHER, length: 1, isId: false }, name: '' };
/** In an entry of the table: the ninths that a byte adds, whether a name of `PICTURES` ends with it, and the place after it. */
const ADDED = 0x7f;
const IS_PICTURE = 0x80;
const NEXT = 0xff00;

const textOf = ({ run: { kind, length, isId }, name }: Place): string => `${kind} ${length} ${isId} ${name}`;
const KINDS = [OTHER, LOWER, UPPER, DIGIT, SPACE, ONE, TWO, THREE, FOUR, CONTINUATION];

/**
 * By place and byte, so that counting is one look-up a byte, without a branch to be mispredicted. 53 places, 27 KB. Made when a
 * prompt is first counted: 10 ms that a start does without.
 */
class Steps {
  #all: Uint16Array | null = null;

  get all(): Uint16Array {
    return (this.#all ??= stepsFrom(FIRST));
  }
}

const STEPS = new Steps();

function stepsFrom(first: Place): Uint16Array {
  const places = [first];
  const numbers = new Map([[textOf(first), 0]]);
  const stepFrom = (place: Place, kind: number, name: string): number => {
    const next = following(place, kind, name);
    const before = next.run.length > 1 ? ninthsOf(place.run) : 0;
    const to = settled(next);
    const text = textOf(to);
    const number = numbers.get(text) ?? places.push(to) - 1;
    numbers.set(text, number);
    return (number << 8) | (PICTURES.includes(name) ? IS_PICTURE : 0) | (ninthsOf(next.run) - before);
  };
  const steps: number[] = [];
  // Grows while it is walked.
  for (const place of places) {
    const byKind = KINDS.map((kind) => stepFrom(place, kind, ''));
    const row = steps.length;
    for (const kind of CLASSES) steps.push(byKind[kind] ?? 0);
    for (const picture of PICTURES)
      for (const begun of place.name === '' ? [''] : ['', place.name]) {
        const name = picture.slice(0, begun.length + 1);
        const byte = name.charCodeAt(begun.length);
        if (name.startsWith(begun)) steps[row + byte] = stepFrom(place, CLASSES[byte] ?? OTHER, name);
      }
  }
  return Uint16Array.from(steps);
}

const BASE64 = new Uint8Array(256).map((_, byte) => {
  const kind = CLASSES[byte];
  const isSign = '+/-_=\\'.includes(String.fromCharCode(byte)); // PHP escapes slashes, MIME breaks lines by `\n`
  return kind === LOWER || kind === UPPER || kind === DIGIT || isSign ? 1 : 0;
});

/** The body with its letters unescaped, so that names in it can be looked for; itself where none is escaped. */
export function withPlainLetters(body: Buffer): Buffer {
  // Code is full of backslashes, at each of which a search for one stops; base64 has u00, and needs no copy of it.
  if (!body.includes('u00') || !body.includes('\\u00')) return body;
  const text = body.toString('latin1');
  if (!ESCAPED_LETTER.test(text)) return body; // of umlauts, or of the colours of a terminal
  const plain = text.replaceAll(ESCAPE, (whole, code: string | undefined) =>
    code === undefined || code === '5c' || code === '5C'
      ? whole
      : String.fromCharCode(Number.parseInt(code, 16)),
  );
  return plain.length === text.length ? body : Buffer.from(plain, 'latin1');
}

export function promptTokensAtMost(body: Buffer): number {
  let tokens = 0;
  let ninths = 0;
  let mayHaveImages = false;
  let dataOfImages = 0;
  for (let at = 0; at < body.length;) {
    const data = nextData(body, at);
    const text = countText(body, at, data.start);
    ninths += text.ninths;
    mayHaveImages ||= text.mayHaveImages;
    const perToken = data.end > data.start ? bytesPerToken(body, data.start) : 1;
    if (perToken === null) dataOfImages += 1;
    else tokens += Math.ceil((data.end - data.start) / perToken);
    at = data.end;
  }
  const images = mayHaveImages ? imagesIn(body) : 0;
  tokens += Math.max(images, dataOfImages) * IMAGE_TOKENS;
  return tokens + Math.ceil(ninths / NINTHS);
}

/** A search of the whole body takes as long as counting its tokens: only where a name begins as these do. */
function imagesIn(body: Buffer): number {
  const keys = ['"image_url"', '"inlineData"', '"inline_data"', '"fileData"'];
  return keys.reduce(
    (found, key) => found + count(body, key, isKey),
    count(body, '"image"', () => true),
  );
}

interface Part {
  readonly start: number;
  readonly end: number;
}

/** The next data of a picture, a file or a sound, or an empty part at the end. */
function nextData(body: Buffer, from: number): Part {
  let run = nextRun(body, from);
  while (run.start < body.length && !isData(body, run)) run = nextRun(body, run.end);
  return run;
}

function isData(body: Buffer, { start, end }: Part): boolean {
  const before = textBefore(body, start);
  if (!BEGINS_DATA.test(before)) return BEGINS_DRAWING.test(before);
  const first = before.slice(Math.max(before.lastIndexOf('{'), before.lastIndexOf('}')) + 1);
  const [last = ''] = /^[^{}]*/.exec(body.toString('latin1', end, end + BEFORE_DATA)) ?? [];
  return !OF_TEXT.test(`${first}${last}`);
}

const textBefore = (body: Buffer, start: number): string =>
  body.toString('latin1', Math.max(0, start - BEFORE_DATA), start);

/** The next long run of base64, or an empty one at the end. Looks at one byte in `DATA_BYTES` where there is none. */
function nextRun(body: Buffer, from: number): Part {
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

/** null: a picture, counted by its part, not by its length. The type of a data URL wins over one that stands beside it. */
function bytesPerToken(body: Buffer, start: number): number | null {
  const text = textBefore(body, start);
  const [, type] = DATA_URL.exec(text) ?? [];
  if (type?.startsWith('text') === true) return TEXT_FILE_BYTES_PER_TOKEN;
  const isImage =
    type === undefined ? OF_IMAGE.test(text) || BEGINS_DRAWING.test(text) : type.startsWith('image');
  return isImage ? null : FILE_BYTES_PER_TOKEN;
}

/** Four parts at once: each step waits for the one before it, and a processor has time for other steps meanwhile. */
function countText(
  body: Buffer,
  from: number,
  end: number,
): { readonly ninths: number; readonly mayHaveImages: boolean } {
  const steps = STEPS.all;
  const part = (end - from) >>> 2;
  const b = newRun(body, from + part, end);
  const c = newRun(body, Math.max(b, from + 2 * part), end);
  const d = newRun(body, Math.max(c, from + 3 * part), end);
  const shared = Math.min(b - from, c - b, d - c, end - d);
  let [inA, inB, inC, inD] = [0, 0, 0, 0];
  let ninths = 0;
  let all = 0;
  for (let i = 0; i < shared; i += 1) {
    inA = steps[(inA & NEXT) | (body[from + i] ?? 0)] ?? 0;
    inB = steps[(inB & NEXT) | (body[b + i] ?? 0)] ?? 0;
    inC = steps[(inC & NEXT) | (body[c + i] ?? 0)] ?? 0;
    inD = steps[(inD & NEXT) | (body[d + i] ?? 0)] ?? 0;
    ninths += (inA & ADDED) + (inB & ADDED) + (inC & ADDED) + (inD & ADDED);
    all |= inA | inB | inC | inD;
  }
  const rests = [
    [inA, from, b],
    [inB, b, c],
    [inC, c, d],
    [inD, d, end],
  ] as const;
  for (const [last, start, to] of rests) {
    let step = last;
    for (let i = start + shared; i < to; i += 1) {
      step = steps[(step & NEXT) | (body[i] ?? 0)] ?? 0;
      ninths += step & ADDED;
      all |= step;
    }
  }
  return { ninths, mayHaveImages: (all & IS_PICTURE) !== 0 };
}

/** Where a run begins, from `at` on, that nothing before it has a part in, and that is not inside a name. */
function newRun(body: Buffer, at: number, end: number): number {
  for (let i = Math.max(at, 1); i < end; i += 1) {
    const before = body[i - 1] ?? 0;
    const kind = CLASSES[before];
    const isInName = before === QUOTE || kind === LOWER || kind === UPPER || kind === DIGIT;
    if (!isInName && kind !== CLASSES[body[i] ?? 0]) return i;
  }
  return end;
}

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
