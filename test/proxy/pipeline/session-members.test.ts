import t from 'tap';
import { DEFAULT_WORDS, dialectOf } from '../../../config/dialect.ts';
import { litellmSessionMembers } from '../../../config/resolve/gateways/litellm.ts';
import { peekMultipart } from '../../../proxy/bodies/multipart.ts';
import { peek } from '../../../proxy/bodies/peek.ts';
import { RequestBody } from '../../../proxy/bodies/request-body.ts';
import { copyWithCuts } from '../../../proxy/bodies/splice.ts';
import { sessionEdits } from '../../../proxy/pipeline/session-members.ts';

const MEMBERS = litellmSessionMembers(dialectOf(DEFAULT_WORDS));
const WANTED = { names: new Set(['model', ...MEMBERS.names, ...MEMBERS.objects]), prefixes: [] };

/** The body as it goes, and the members that were changed. */
function mended(text: string): { readonly text: string; readonly changed: readonly string[] } {
  const bytes = Buffer.from(text);
  const peeked = peek(bytes, WANTED, 512);
  if (!peeked.ok) throw new Error(peeked.detail);
  const edits = sessionEdits(
    { members: { kind: 'json', peeked }, body: new RequestBody(bytes) },
    MEMBERS,
    'S',
  );
  return {
    text: String(
      copyWithCuts(
        bytes,
        edits.flatMap(({ cuts }) => cuts),
      ),
    ),
    changed: edits.map(({ member, change }) => `${member} ${change}`),
  };
}

t.test('what states another session says this one; every other byte stays', async (t) => {
  t.same(
    mended('{ "metadata" : { "a": 1.0, "trace_id":"T" , "b":{"session_id":"deep"}}, "litellm_session_id":7}'),
    {
      text: '{ "metadata" : { "a": 1.0, "trace_id":"S" , "b":{"session_id":"deep"}}, "litellm_session_id":"S"}',
      changed: ['metadata.trace_id replaced', 'litellm_session_id replaced'],
    },
  );
  t.same(mended('{"litellm_metadata":"{\\"session_id\\":\\"T\\",\\"a\\":1}"}'), {
    text: '{"litellm_metadata":"{\\"session_id\\":\\"S\\",\\"a\\":1}"}',
    changed: ['litellm_metadata replaced'],
  });
  t.same(mended('{"metadata":{"sess\\u0069on_id":"T"}}').text, '{"metadata":{"sess\\u0069on_id":"S"}}');
});

t.test('a body that states this session, or none, is left alone', async (t) => {
  for (const text of [
    '{"metadata":{"session_id":"S","trace_id":"S"},"litellm_trace_id":"S"}',
    '{"metadata":{"a":1}}',
    '{"metadata":null,"litellm_metadata":[{"session_id":"T"}]}',
    '{"metadata":"no JSON","litellm_metadata":"[1]"}',
    '{"model":"m"}',
  ])
    t.same(mended(text), { text, changed: [] }, text);
});

t.test('a member of metadata that stands twice is refused: readers take different ones', async (t) => {
  for (const text of ['{"metadata":{"session_id":"S","session_id":"T"}}'])
    t.throws(() => mended(text), { code: 'duplicate_member', param: 'metadata.session_id' });
});

t.test('a form loses what states another session', async (t) => {
  const field = (name: string, value: string): string =>
    `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  const bytes = Buffer.from(
    `${field('model', 'm')}${field('litellm_session_id', 'T')}${field('litellm_trace_id', 'S')}` +
      `${field('metadata', '{"session_id":"T"}')}${field('litellm_metadata', '{"a":1}')}--b--\r\n`,
  );
  const peeked = peekMultipart(bytes, 'b', WANTED);
  if (!peeked.ok) throw new Error(peeked.detail);
  const edits = sessionEdits(
    { members: { kind: 'form', peeked }, body: new RequestBody(bytes) },
    MEMBERS,
    'S',
  );
  t.same(
    edits.map(({ member, change }) => `${member} ${change}`),
    ['litellm_session_id removed', 'metadata removed'],
  );
  const cuts = edits.flatMap((edit) => edit.cuts);
  t.equal(
    String(copyWithCuts(bytes, cuts)),
    `${field('model', 'm')}${field('litellm_trace_id', 'S')}${field('litellm_metadata', '{"a":1}')}--b--\r\n`,
  );
});
