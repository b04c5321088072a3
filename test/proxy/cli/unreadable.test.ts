// Why a file of the command line cannot be read or written.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { bytesOf } from '../../../config/read.ts';
import { cannotRead, whyNotWritten } from '../../../proxy/cli/unreadable.ts';
import { UsageError } from '../../../proxy/cli/terminal.ts';
import { folder } from '../../support/cli.ts';

const dir = folder(t);

function whyUnread(path: string): string {
  try {
    bytesOf(path, 10);
  } catch (error) {
    const sentence = cannotRead('--key-file x', error);
    t.ok(sentence instanceof UsageError);
    return sentence.message;
  }
  return '';
}

t.test('a file that cannot be read: what it is instead, and what to do', (t) => {
  const file = join(dir, 'file');
  writeFileSync(file, '');
  t.match(whyUnread(join(dir, 'none')), /^--key-file x does not exist - check the path/);
  t.match(whyUnread(join(file, 'none')), /^--key-file x does not exist - check the path/);
  t.match(whyUnread(join(dir, 'none')), /; a relative one begins at the folder the command runs in$/);
  t.match(whyUnread(dir), /^--key-file x is a folder - name a file in it$/);
  const denied = Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES' });
  t.match(cannotRead('the body x', denied).message, /^the body x may not be read by this user - change/);
  const other = Object.assign(new Error('EIO: i/o error'), { code: 'EIO' });
  t.equal(cannotRead('the body x', other).message, 'the body x cannot be read (EIO)');
  t.end();
});

t.test('one that cannot be written', (t) => {
  const why = (code: string): string => whyNotWritten(Object.assign(new Error(code), { code }));
  t.equal(why('ENOSPC'), 'its disk is full');
  t.equal(why('EROFS'), 'its disk is read-only');
  t.equal(why('EIO'), 'EIO');
  t.equal(whyNotWritten('odd'), 'odd');
  t.end();
});
