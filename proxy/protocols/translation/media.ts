// Pictures and documents between the forms in which protocols write them: data URLs, base64 with a type, addresses.
import { Buffer } from 'node:buffer';
import type { Media } from './form.ts';

const DATA = 'data:';
/** Longer heads are no media type. */
const LONGEST_HEAD = 256;

/** A URL, or the bytes that a `data:` URL holds (RFC 2397); null for a data URL that is none. */
export function mediaOfUrl(url: string, type: string | null = null): Media | null {
  if (!url.startsWith(DATA)) return { kind: 'url', type, url };
  const comma = url.slice(0, LONGEST_HEAD).indexOf(',');
  if (comma < 0) return null;
  const [stated = '', ...parameters] = url.slice(DATA.length, comma).split(';');
  const data = url.slice(comma + 1);
  const base64 = parameters.includes('base64') ? data : textAsBase64(data);
  return base64 === null ? null : { kind: 'data', type: stated || (type ?? 'text/plain'), base64 };
}

/** Of Gemini's Files API, and of Cloud Storage: with Google's own credentials alone. */
const STORED_BY_GOOGLE = /^(?:gs:\/\/|https:\/\/generativelanguage\.googleapis\.com\/(?:.*\/)?files\/)/i;

/** Only Google can fetch it. */
export const isStoredByGoogle = (url: string): boolean => STORED_BY_GOOGLE.test(url);

function textAsBase64(data: string): string | null {
  try {
    return Buffer.from(decodeURIComponent(data)).toString('base64');
  } catch {
    return null;
  }
}

/** Where the bytes are, or a data URL that holds them. */
export function urlOfMedia(media: Media): string {
  return media.kind === 'url' ? media.url : `${DATA}${media.type};base64,${media.base64}`;
}

/** Sound is `audio`, moving pictures are `video`; null for other media, and where the type is not known. */
export function recordingKind({ type }: Media): 'audio' | 'video' | null {
  if (type === null) return null;
  if (/^video\//i.test(type)) return 'video';
  return /^audio\//i.test(type) ? 'audio' : null;
}

const AUDIO_FORMATS: ReadonlyMap<string, string> = new Map([
  ['mpeg', 'mp3'],
  ['mpeg3', 'mp3'],
  ['vnd.wave', 'wav'],
  ['wave', 'wav'],
]);

/** What chat completions call a type of sound: `audio/x-wav` is `wav`, `audio/mpeg` is `mp3`. */
export function audioFormat(type: string): string {
  const word = type
    .replace(/^audio\/(?:x-)?/i, '')
    .replace(/\s*;.*$/, '')
    .toLowerCase();
  return AUDIO_FORMATS.get(word) ?? word;
}

/** The text of a document that is one; null for other media. */
export function textOfMedia(media: Media): string | null {
  if (media.kind !== 'data' || !media.type.startsWith('text/')) return null;
  return Buffer.from(media.base64, 'base64').toString('utf8');
}
