// The names of our response headers and the lists made with them.
import t from 'tap';
import { DEFAULT_WORDS, dialectOf } from '../../../config/dialect.ts';
import {
  responseHeaderNames,
  deploymentResponseHeaders,
  sessionHeaders,
  upstreamResponseHeaders,
} from '../../../proxy/headers/response-header-names.ts';

const NAMES = responseHeaderNames(dialectOf(DEFAULT_WORDS));

t.test('names follow the brand, and no two are alike', async (t) => {
  t.equal(NAMES.cost, 'x-litellm-response-cost');
  t.equal(responseHeaderNames(dialectOf({ ...DEFAULT_WORDS, brand: 'acme' })).callId, 'x-acme-call-id');
  t.same(
    Object.values(NAMES).map((name) => name.slice('x-litellm-'.length)),
    [
      ...[
        'call-id',
        'session-id',
        'model-id',
        'model-api-base',
        'version',
        'response-cost',
        'overhead-duration-ms',
      ],
      ...['attempted-retries', 'attempted-fallbacks', 'error-source', 'original-call-id'],
    ],
  );
  t.ok(Object.isFrozen(NAMES));
});

t.test('a call without a model entry tells its session alone', async (t) => {
  t.same(sessionHeaders(NAMES, 's', null), ['x-litellm-session-id', 's']);
});

t.test('an answered call tells who served it and after how many attempts', async (t) => {
  const headers = deploymentResponseHeaders(NAMES, { id: 'one', apiBase: 'http://gateway' }, '1.2.3');
  t.same(headers, [
    ...[
      'x-litellm-model-id',
      'one',
      'x-litellm-model-api-base',
      'http://gateway',
      'x-litellm-version',
      '1.2.3',
    ],
  ]);
  t.same(sessionHeaders(NAMES, 's', { headers, retries: 2, fallbacks: 1 }), [
    ...['x-litellm-session-id', 's', ...headers],
    ...['x-litellm-attempted-retries', '2', 'x-litellm-attempted-fallbacks', '1'],
  ]);
});

t.test('an answer of an upstream tells the time that was ours, and where an error comes from', async (t) => {
  t.same(upstreamResponseHeaders(NAMES, 'c', 1.23456, 399), [
    ...['x-litellm-call-id', 'c', 'x-litellm-overhead-duration-ms', '1.235'],
  ]);
  t.same(upstreamResponseHeaders(NAMES, 'c', 0, 400).slice(4), ['x-litellm-error-source', 'upstream']);
});
