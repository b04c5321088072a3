// The common case of a configuration text -> Tree, from a flat list of events with offsets: 10,000 entries take 0.1 s,
// by way of a syntax tree 0.5 s. It says nothing about a text that is wrong or rare: anchors, tags, block texts,
// directives, odd or repeated keys. Null leaves those to thorough-yaml.ts.
import {
  boolCoreTag,
  EVENT_ID,
  floatCoreTag,
  getScalarValue,
  intCoreTag,
  NOT_RESOLVED,
  nullCoreTag,
  parseEvents,
  SCALAR_STYLE,
  YAMLException,
} from 'js-yaml';
import type { Event, MappingEvent, ScalarEvent, SequenceEvent } from 'js-yaml';
import type { MapTree, Member, ScalarTree, TextFile, Tree } from './tree.ts';

/** Where parsers go different ways: lone carriage returns, tabs, byte order marks, the marks of a document's ends. */
const DISPUTED = /\r(?!\n)|[\t\ufeff]|^\.\.\.|^ +---/m;
/** How a plain scalar begins that may be no text (YAML 1.2 core schema). */
const NO_TEXT = /^[-+.~0-9tTfFnN]/;
const CORE_TAGS = Object.freeze([nullCoreTag, boolCoreTag, intCoreTag, floatCoreTag]);

/** The tree of a text with one document of mappings, lists and plain or quoted values; null for any other text. */
export function plainTree(file: TextFile, text: string): MapTree | null {
  if (DISPUTED.test(text)) return null;
  try {
    return new Reading(file, text, parseEvents(text, {})).document();
  } catch (cause) {
    if (cause instanceof YAMLException) return null;
    throw cause;
  }
}

/** One walk over the events; each step consumes the events of what it returns, or gives up with null. */
class Reading {
  readonly #file: TextFile;
  readonly #text: string;
  readonly #events: readonly Event[];
  #next = 0;

  constructor(file: TextFile, text: string, events: readonly Event[]) {
    this.#file = file;
    this.#text = text;
    this.#events = events;
  }

  document(): MapTree | null {
    const begin = this.#take();
    if (begin?.type !== EVENT_ID.DOCUMENT || begin.directives.length > 0) return null;
    const root = this.#node();
    const ended = this.#take()?.type === EVENT_ID.POP && this.#next === this.#events.length;
    return ended && root?.kind === 'map' ? root : null;
  }

  #take(): Event | undefined {
    return this.#events[this.#next++];
  }

  #node(): Tree | null {
    const event = this.#take();
    if (event?.type === EVENT_ID.SCALAR) return this.#scalar(event);
    if (event?.type !== EVENT_ID.MAPPING && event?.type !== EVENT_ID.SEQUENCE) return null;
    if (isMarked(event)) return null;
    return event.type === EVENT_ID.MAPPING ? this.#map(event.start) : this.#list(event.start);
  }

  #list(offset: number): Tree | null {
    const items: Tree[] = [];
    while (this.#events[this.#next]?.type !== EVENT_ID.POP) {
      const item = this.#node();
      if (item === null) return null;
      items.push(item);
    }
    this.#next += 1;
    return { kind: 'list', items, file: this.#file, offset };
  }

  #map(offset: number): MapTree | null {
    const members = new Map<string, Member>();
    while (this.#events[this.#next]?.type !== EVENT_ID.POP) {
      const keyEvent = this.#take();
      const key = keyEvent?.type === EVENT_ID.SCALAR ? this.#scalar(keyEvent) : null;
      if (keyEvent?.type !== EVENT_ID.SCALAR || key === null || key.value === null) return null;
      const name = String(key.value);
      if (name === '<<' || name === '__proto__' || members.has(name)) return null;
      const tree = this.#absent(keyEvent) ?? this.#node();
      if (tree === null) return null;
      members.set(name, { tree, keyFile: this.#file, keyOffset: key.offset });
    }
    this.#next += 1;
    return { kind: 'map', members, file: this.#file, offset };
  }

  /** The null of a key with nothing behind it, whose event has no place: it stands where a value would begin. */
  #absent(key: ScalarEvent): ScalarTree | null {
    const event = this.#events[this.#next];
    if (event?.type !== EVENT_ID.SCALAR || event.valueStart !== -1 || isMarked(event)) return null;
    let at = key.valueEnd + (key.style === SCALAR_STYLE.PLAIN ? 0 : 1);
    if (this.#text[at] !== ':') return null;
    do at += 1;
    while (this.#text[at] === ' ');
    if (!['\n', '\r', '#'].includes(this.#text[at] ?? '')) return null;
    this.#next += 1;
    return this.#leaf(null, at);
  }

  #scalar(event: ScalarEvent): ScalarTree | null {
    const { style, valueStart } = event;
    if (valueStart === -1 || isMarked(event)) return null;
    const text = getScalarValue(this.#text, event);
    if (style === SCALAR_STYLE.PLAIN) {
      const value = valueOf(text);
      return value === undefined ? null : this.#leaf(value, valueStart);
    }
    const isQuoted = style === SCALAR_STYLE.SINGLE_QUOTED || style === SCALAR_STYLE.DOUBLE_QUOTED;
    return isQuoted ? this.#leaf(text, valueStart - 1) : null;
  }

  #leaf(value: ScalarTree['value'], offset: number): ScalarTree {
    return { kind: 'scalar', value, reference: null, file: this.#file, offset };
  }
}

function isMarked(event: ScalarEvent | SequenceEvent | MappingEvent): boolean {
  return event.anchorStart !== -1 || event.tagStart !== -1;
}

/** What a plain scalar means; undefined for a number beyond a double, which parsers take for text or infinity. */
function valueOf(text: string): ScalarTree['value'] | undefined {
  if (!NO_TEXT.test(text)) return text;
  for (const tag of CORE_TAGS) {
    const value = tag.resolve(text, false, tag.tagName);
    if (value !== NOT_RESOLVED) return value;
  }
  return Math.abs(Number(text)) === Infinity ? undefined : text;
}
