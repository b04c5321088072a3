// Every way to write a configuration wrong that we thought of, and the very words of the answer. A folder per case:
// gateway.yaml (and what it includes) beside expected.txt. Write the text first, by hand, then the code.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { formatIssue } from '../../config/issue.ts';
import { loadConfig } from '../../config/load.ts';

const FOLDER = join(import.meta.dirname, 'golden');
const ENV = {
  EMPTY: '',
  WORD: 'sk-word',
  BASE_WITH_V1: 'https://gateway.example.com/v1',
  KEY_WITH_NEWLINE: 'sk-secret\n',
};
/** Whatever begins like this in a golden file stands where a secret belongs. */
const SECRET = /sk-|user:|trailers/;

const names = readdirSync(FOLDER);
t.ok(names.length >= 30, 'at least thirty cases');

for (const name of names)
  t.test(`${name} is answered with its text`, async (t) => {
    const folder = join(FOLDER, name);
    const loaded = loadConfig(join(folder, 'gateway.yaml'), ENV);
    t.equal(loaded.ok, false, 'every golden configuration holds an error');
    const issues = loaded.ok ? loaded.snapshot.warnings : loaded.issues;
    const text = issues
      .map((issue) => `${issue.severity} ${formatIssue(issue)}\n`)
      .join('')
      .replaceAll(`${folder}/`, '');
    t.equal(text, readFileSync(join(folder, 'expected.txt'), 'utf8'));
    t.notMatch(text, SECRET, 'no secret is shown');
    for (const issue of issues) {
      t.not(issue.fix, '', 'each issue says how to fix it');
      t.ok(issue.line > 0 && issue.column > 0, 'each issue has a place');
    }
  });
