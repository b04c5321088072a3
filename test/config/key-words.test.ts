// The words of a key are the same, however it is written.
import t from 'tap';
import { wordsOf } from '../../config/key-words.ts';

for (const [key, words] of [
  ['max_budget', 'max budget'],
  ['maxBudget', 'max budget'],
  ['Max-Budget', 'max budget'],
  ['maxRPMBudget', 'max rpm budget'],
  ['__x', 'x'],
  ['', ''],
] as const)
  t.equal(wordsOf(key).join(' '), words, key);
