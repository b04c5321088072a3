// The status that an error states: by a number, by a word of a vendor, or not at all.
import t from 'tap';
import { isStatus, statedStatus } from '../../../proxy/protocols/upstream-error.ts';

t.test('a status is stated by a number, else by a word', (t) => {
  const cases: readonly (readonly [type: string | null, code: string | null, want: number | null])[] = [
    [null, '429', 429],
    ['', '503', 503],
    ['BadRequestError', '400', 400],
    ['RESOURCE_EXHAUSTED', '429', 429],
    ['UNAVAILABLE', null, 503],
    ['invalid_request_error', '429', 429],
    ['tokens', 'rate_limit_exceeded', 429],
    ['insufficient_quota', 'insufficient_quota', 429],
    ['overloaded_error', null, 503],
    ['server_error', 'server_is_overloaded', 503],
    ['authentication_error', '', 401],
    ['server_error', 'server_error', null],
    [null, null, null],
    [null, '200', null],
    [null, '4290', null],
  ];
  for (const [type, code, want] of cases)
    t.equal(statedStatus({ type, code }), want, JSON.stringify({ type, code }));
  t.end();
});

t.test('the 500 that LiteLLM writes of what it does not know is less than a word', (t) => {
  t.equal(statedStatus({ type: 'rate_limit_error', code: '500' }), 429);
  t.equal(statedStatus({ type: null, code: '500' }), 500);
  t.end();
});

t.test('a code is a status, or a word', (t) => {
  t.ok(isStatus('429'));
  t.notOk(isStatus('rate_limit_exceeded'));
  t.notOk(isStatus(null));
  t.end();
});
