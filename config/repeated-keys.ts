// Keys that one mapping has several times. LiteLLM's parser takes the last without a word, so the operator has to know which one
// was in effect before the others are deleted. Pure.
import { isScalar, visit, type Document } from 'yaml';
import { placeIn, type TextFile } from './tree.ts';

/** Where a key stands, as offsets. */
interface RepeatedKey {
  readonly last: number;
  /** Before it, in their order; at least one. */
  readonly others: readonly number[];
}

export function repeatedKeys(document: Document): readonly RepeatedKey[] {
  if (!document.errors.some(({ code }) => code === 'DUPLICATE_KEY')) return [];
  const found: RepeatedKey[] = [];
  visit(document, {
    Map: (_, { items }) => {
      const places = new Map<unknown, RepeatedKey>();
      for (const { key } of items) {
        const offset = isScalar(key) ? key.range?.[0] : undefined;
        // Merge keys may stand several times.
        if (!isScalar(key) || offset === undefined || key.value === '<<' || typeof key.value === 'symbol')
          continue;
        const before = places.get(key.value);
        const others = before === undefined ? [] : [...before.others, before.last];
        places.set(key.value, { last: offset, others });
      }
      found.push(...[...places.values()].filter(({ others }) => others.length > 0));
    },
  });
  return found;
}

export function repeatedSentence(
  file: TextFile,
  { last, others }: RepeatedKey,
): readonly [message: string, fix: string] {
  const { line } = placeIn(file, last);
  const lines = [...new Set(others.map((offset) => placeIn(file, offset).line))];
  const where = lines.length === 1 && lines[0] === line ? 'before it' : `in line ${lines.join(' and ')}`;
  const [times, which] =
    others.length === 1 ? ['twice', 'the other'] : [`${others.length + 1} times`, 'the others'];
  return [
    `this key appears ${times} in one mapping; LiteLLM uses this one, the last`,
    `delete ${which} ${where} to keep what was in effect`,
  ];
}
