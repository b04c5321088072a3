// The value of a key: its form is what secret scanners look for, every character is as likely as another.
import t from 'tap';
import { displayName, newKeyValue } from '../../../../proxy/api/access/keys-value.ts';

/** Nosey Parker, np.openai.1 (crates/noseyparker/data/default/builtin/rules/openai.yml). */
const SCANNER = /\b(sk-[a-zA-Z0-9]{48})\b/;

t.test('scanners know the form, wherever a key stands', async (t) => {
  const value = newKeyValue();
  for (const text of [value, `api_key: ${value}`, `"${value}"`, `Bearer ${value}\n`, `?key=${value}&a=b`])
    t.equal(SCANNER.exec(text)?.[1], value);
  t.equal(displayName(value), `sk-...${value.slice(-4)}`);
});

t.test('no character is preferred, and no two values are the same', async (t) => {
  const values = Array.from({ length: 5_000 }, newKeyValue);
  t.equal(new Set(values).size, values.length);
  const counts = new Map<string, number>();
  for (const char of values.join('').replaceAll('sk-', '')) counts.set(char, (counts.get(char) ?? 0) + 1);
  t.equal(counts.size, 62);
  // 240,000 characters, 3,871 of each; seven standard deviations are 433.
  for (const [char, count] of counts) t.ok(Math.abs(count - 3_871) < 450, `${char}: ${count}`);
});
