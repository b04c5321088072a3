// Which code an error has, whatever was thrown.
import { readFileSync } from 'node:fs';
import t from 'tap';
import { errorCode } from '../../config/error-code.ts';

t.test('an error of Node has its code, and whatever has none has none', async (t) => {
  let thrown: unknown = null;
  try {
    readFileSync(import.meta.dirname + '/missing');
  } catch (error) {
    thrown = error;
  }
  t.equal(errorCode(thrown), 'ENOENT');
  for (const other of [
    new Error('text'),
    new DOMException('stopped', 'AbortError'),
    'ENOENT',
    null,
    undefined,
  ])
    t.equal(errorCode(other), undefined);
});
