// One finding per field, by the schema: what is read here stays, what is not is taken out. A field that would protect
// something and that nothing here enforces leaves a comment in its place.
import { isMap, isScalar, isSeq, type Document, type Pair, type YAMLMap } from 'yaml';
import { nearest } from '../nearest.ts';
import { settingOf } from '../protecting-names.ts';
import { printable } from '../printable.ts';
import { below, isInert, SCHEMA, type SchemaNode } from '../schema.ts';
import type { Path } from '../tree.ts';
import { protects } from '../unknown-keys.ts';
import type { LeftOut } from './entries.ts';
import type { Level } from './finding.ts';
import type { Findings } from './findings.ts';
import { HARMLESS } from './harmless.ts';
import { noteOn, noteOnCallbacks } from './notes.ts';
import { nameOf, type Origins } from './origins.ts';
import { commentOn } from './remove.ts';

/** @returns whether a field that authenticated callers was left out */
export function importFields(
  document: Document,
  leftOut: LeftOut,
  origins: Origins,
  findings: Findings,
): boolean {
  const fields = new Fields(leftOut, origins, findings);
  if (isMap(document.contents)) fields.map(document.contents, SCHEMA, []);
  return fields.lostAuthentication;
}

/** What becomes of a field; `level` null = it stays, and its findings are reported. */
interface Verdict {
  readonly level: Level | null;
  readonly message: string;
  /** It protected something, and nothing here enforces it. */
  readonly isProtected?: true;
}

const STAYS: Verdict = { level: null, message: '' };

class Fields {
  readonly #leftOut: LeftOut;
  readonly #origins: Origins;
  readonly #findings: Findings;
  #lostAuthentication = false;

  constructor(leftOut: LeftOut, origins: Origins, findings: Findings) {
    this.#leftOut = leftOut;
    this.#origins = origins;
    this.#findings = findings;
  }

  get lostAuthentication(): boolean {
    return this.#lostAuthentication;
  }

  map(map: YAMLMap, schema: SchemaNode, path: Path): void {
    const comments: string[] = [];
    const kept: Pair[] = [];
    for (const pair of map.items) {
      const key = nameOf(pair);
      const at = [...path, key];
      const { level, message, isProtected } = this.#verdict(pair, schema, at);
      if (level === null) {
        kept.push(pair);
        continue;
      }
      this.#findings.add(pair, at, level, message, isProtected);
      this.#origins.lose(pair);
      if (level === 'unsupported') comments.push(` not imported: ${printable(key)}`);
    }
    const wasEmpty = map.items.length === 0;
    map.items = kept;
    const [first] = kept;
    for (const line of comments) {
      if (first !== undefined && isScalar(first.key)) commentOn(first.key, line);
      else map.comment = [map.comment, line].filter(Boolean).join('\n');
    }
    if (kept.length === 0 && !wasEmpty) map.flow = true;
  }

  #verdict(pair: Pair, schema: SchemaNode, path: Path): Verdict {
    const key = nameOf(pair);
    const inner = below(schema, key);
    if (inner === undefined) {
      if (schema.additionalProperties === true || schema.properties === undefined) {
        this.#tell(pair, path, 'exact', '');
        return STAYS;
      }
      const near = nearest(key, Object.keys(schema.properties));
      const hint =
        near === null ? 'nothing here has this name' : `nothing here has this name; is ${near} meant?`;
      const setting = isScalar(pair.value)
        ? settingOf(pair.value.value)
        : pair.value === null
          ? 'off'
          : 'other';
      if (protects(key, setting))
        return {
          level: 'unsupported',
          message: `by its name it protected something, and nothing here does: ${hint}`,
          isProtected: true,
        };
      return { level: 'unsupported', message: hint };
    }
    if (isInert(inner)) return this.#inert(pair, inner, path);
    if (path.join('.') === 'general_settings.database_url' && isEmpty(pair.value))
      return noEffect('it is empty: the variable DATABASE_URL names a database, as in LiteLLM');
    const instead = inner['x-switch'];
    if (instead !== undefined && isScalar(pair.value) && typeof pair.value.value === 'boolean')
      return pair.value.value
        ? { level: 'unsupported', message: `has another place here: ${instead}` }
        : noEffect('it is off');
    this.#value(pair, inner, path);
    return STAYS;
  }

  #inert(pair: Pair, schema: SchemaNode, path: Path): Verdict {
    const { value } = pair;
    if (schema['x-effect'] === 'always') {
      if (isScalar(value) && value.value === true) {
        this.#tell(pair, path, 'exact', 'always so here');
        return STAYS;
      }
      return { level: 'approximate', message: 'left out: it is always on here' };
    }
    if (schema['x-effect'] === 'refused' && asksForProtection(value, schema['x-refuses'])) {
      if (schema['x-authenticates'] === true) this.#lostAuthentication = true;
      const message = `it protected something, and nothing here enforces it: ${schema['x-fix'] ?? 'decide without it'}`;
      return { level: 'unsupported', message, isProtected: true };
    }
    const isRefused = schema['x-effect'] === 'refused';
    if (isOff(value) || (isRefused && !asksForProtection(value, undefined))) return noEffect('it is off');
    if (isRefused) return noEffect('nothing here needs it');
    if (HARMLESS.has(nameOf(pair))) return noEffect('nothing here needs it');
    const fix = schema['x-fix'];
    if (fix !== undefined) return { level: 'unsupported', message: `has another place here: ${fix}` };
    const description = schema.description ?? 'see docs/configuration.md';
    return { level: 'unsupported', message: `nothing here does this: ${description}` };
  }

  #value(pair: Pair, schema: SchemaNode, path: Path): void {
    const { value } = pair;
    if (
      isMap(value) &&
      value.items.length > 0 &&
      (schema.properties ?? schema.additionalProperties) !== undefined
    ) {
      if (typeof schema.additionalProperties === 'object' && schema.properties === undefined)
        for (const one of value.items) this.#tell(one, [...path, nameOf(one)], 'exact', '');
      else this.map(value, schema, path);
      return;
    }
    if (isSeq(value) && schema.items?.properties !== undefined) {
      value.items.forEach((item, index) => {
        const at = [...path, index];
        if (this.#leftOut.has(item)) return;
        if (isMap(item)) this.map(item, schema.items ?? {}, at);
        else this.#tell(pair, at, 'exact', '');
      });
      return;
    }
    this.#tell(pair, path, 'exact', '');
  }

  #tell(pair: Pair, path: Path, level: Level, message: string): void {
    if (this.#findings.has(path)) return;
    const shown = path.map((step) => (typeof step === 'number' ? '[]' : `.${step}`)).join('');
    const name = shown.replace(/^\./, '');
    const note = name === CALLBACKS ? noteOnCallbacks(textsIn(pair.value)) : noteOn(name);
    const written = this.#origins.written(pair.value);
    if (written !== null && isScalar(pair.value)) {
      const value = `LiteLLM reads ${written} as ${String(pair.value.value)}, and so it is written`;
      this.#findings.add(
        pair,
        path,
        note === null ? level : 'approximate',
        note === null ? value : `${value}; ${note}`,
      );
    } else if (note === null) this.#findings.add(pair, path, level, message);
    else this.#findings.add(pair, path, 'approximate', note);
  }
}

const CALLBACKS = 'litellm_settings.callbacks';

/** One text, or those of a list. */
const textsIn = (value: unknown): string[] =>
  (isSeq(value) ? value.items : [value]).flatMap((item) =>
    isScalar(item) && typeof item.value === 'string' ? [item.value] : [],
  );

const noEffect = (message: string): Verdict => ({ level: 'no effect here', message });

/** As the loader judges it: nothing, false, 0, an empty text, list or mapping ask for nothing. */
function asksForProtection(value: unknown, only: readonly string[] | undefined): boolean {
  if (isMap(value)) return value.items.length > 0;
  if (isScalar(value)) return ![null, undefined, false, 0, ''].includes(value.value as never);
  if (!isSeq(value)) return false;
  if (only === undefined) return value.items.length > 0;
  return value.items.some(
    (item) => !isScalar(item) || typeof item.value !== 'string' || only.includes(item.value),
  );
}

/** Nothing, or an empty text. */
const isEmpty = (value: unknown): boolean =>
  value === null || (isScalar(value) && (value.value === null || value.value === ''));

/** `false`, nothing, or an empty list or mapping. */
const isOff = (value: unknown): boolean =>
  value === null ||
  (isScalar(value) && (value.value === false || value.value === null)) ||
  ((isMap(value) || isSeq(value)) && value.items.length === 0);
