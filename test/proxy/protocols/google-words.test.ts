// Google's words for statuses: each is read as its status, and each status is written as one word.
import t from 'tap';
import { statusOfWord, wordOfStatus } from '../../../proxy/protocols/google-words.ts';

t.test('what is written for a status is read as it', (t) => {
  for (const status of [400, 401, 403, 404, 409, 429, 499, 500, 501, 503, 504])
    t.equal(statusOfWord(wordOfStatus(status)), status, `${status}`);
  t.equal(wordOfStatus(400), 'INVALID_ARGUMENT');
  t.equal(wordOfStatus(500), 'INTERNAL');
  t.equal(wordOfStatus(409), 'ABORTED');
  t.end();
});

t.test('other statuses have the word of their kind, other words no status', (t) => {
  t.equal(wordOfStatus(413), 'INVALID_ARGUMENT');
  t.equal(wordOfStatus(529), 'INTERNAL');
  t.equal(statusOfWord('FAILED_PRECONDITION'), 400);
  t.equal(statusOfWord('overloaded_error'), null);
  t.equal(statusOfWord(null), null);
  t.end();
});
